/** `braid ids`: the ids of a namespace that begin with a prefix. */
import { InvalidArgumentError } from "commander";
import type { Command } from "commander";
import type { BraidClient, IdPage } from "../../client/connect.ts";
import { table } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { emit } from "./output.ts";
import { count } from "./print.ts";
import type { Terminal } from "./terminal.ts";

interface IdsOptions extends GlobalOptions {
  readonly prefix: string;
  readonly slice?: string;
  readonly limit: number;
}

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 100_000;
const PAGE_MAX = 1_000;

export function addIds(program: Command, terminal: Terminal): void {
  program
    .command("ids <namespace>")
    .description("find time series ids by the beginning of their names (embedded engine)")
    .option("--prefix <prefix>", "only ids that begin with it", "")
    .option("--slice <slice>", "name of the time slice (default: the newest eight)")
    .option("--limit <count>", `how many: 1 to ${count(LIMIT_MAX)}`, limitArgument, LIMIT_DEFAULT)
    .addHelpText(
      "after",
      "\nIds come by their bytes, and an id behind all ids that begin with it. On Cassandra ids are stored" +
        "\nby their hash and cannot be searched: braid partitions lists the widest ones." +
        "\n\nExample:\n  $ braid ids plays --prefix profile:1",
    )
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<IdsOptions>();
      const client = clientFor(options, terminal);
      const found = await firstOf(client, namespace, options, terminal.interrupted);
      const records = found.timeSeriesIds.map((timeSeriesId) => ({ timeSeriesId }));
      await emit(terminal, options, {
        value: found,
        records,
        columns: ["timeSeriesId"],
        blocks: [
          table(
            ["=ID"],
            records.map(({ timeSeriesId }) => [timeSeriesId]),
          ),
        ],
        notes: notesOn(found),
      });
    });
}

/** As one page, of as many as are wanted. */
async function firstOf(
  client: BraidClient,
  namespace: string,
  { prefix, slice = "", limit }: IdsOptions,
  signal: AbortSignal,
): Promise<IdPage> {
  const ids: string[] = [];
  for (let pageToken = ""; ;) {
    const pageSize = Math.min(limit - ids.length, PAGE_MAX);
    const call = { prefix, timeSlice: slice, pageSize, pageToken, signal };
    const page = await client.listIds(namespace, call);
    ids.push(...page.timeSeriesIds);
    pageToken = page.nextPageToken;
    if (pageToken === "" || ids.length >= limit) return { ...page, timeSeriesIds: ids };
  }
}

function notesOn({ timeSeriesIds, nextPageToken, timeSlices, notSearched }: IdPage): string[] {
  const notes: string[] = [];
  if (nextPageToken !== "") {
    notes.push(`there may be more than these ${count(timeSeriesIds.length)}: raise --limit`);
  }
  if (notSearched > 0) {
    notes.push(
      `searched ${timeSlices.join(", ")}; ${count(notSearched)} older ` +
        `${notSearched === 1 ? "slice was" : "slices were"} not searched: name one with --slice`,
    );
  }
  return notes;
}

function limitArgument(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw new InvalidArgumentError(`must be a whole number from 1 to ${count(LIMIT_MAX)}`);
}
