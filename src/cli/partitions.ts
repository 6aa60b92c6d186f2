/** `braid partitions`: which partitions of a slice are the largest. */
import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";
import type {
  BraidClient,
  PartitionFilter,
  PartitionPage,
  SizedPartition,
} from "../../client/connect.ts";
import { parseBytes } from "../lib/units.ts";
import { table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { count, size } from "./print.ts";
import { withRelative } from "./relative-time.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

interface PartitionsOptions extends GlobalOptions, WatchFlags {
  readonly slice?: string;
  readonly top: number;
  readonly by: "bytes" | "events";
  readonly id?: string;
  readonly buckets?: PartitionFilter;
  readonly size?: PartitionFilter;
}

const TOP_DEFAULT = 20;
/** As many as a walk stores in each order, and those that are in one order only. */
const TOP_MAX = 2_000;
const PAGE_MAX = 1_000;

export function addPartitions(program: Command, terminal: Terminal): void {
  addWatchFlag(program.command("partitions <namespace>"))
    .description("list the largest partitions of a time slice")
    .option("--slice <slice>", "name of the time slice (default: the current one)")
    .option("--top <count>", `how many: 1 to ${count(TOP_MAX)}`, topArgument, TOP_DEFAULT)
    .addOption(
      new Option("--by <order>", "largest by bytes of events, or by events")
        .choices(["bytes", "events"])
        .default("bytes"),
    )
    .option("--id <id>", "only partitions of this time series id")
    .option("--buckets <from..to>", "only these time buckets, for example 3..7", bucketsArgument)
    .option(
      "--size <from..to>",
      "only these sizes, for example 10MiB.. or 1MiB..2MiB",
      sizeArgument,
    )
    .addHelpText(
      "after",
      "\nBUCKET is the number of the time bucket and of the event bucket. SHARE is the partition's part" +
        "\nof the slice. A size with ~ is an estimate, or what a read has seen so far. ROUTE says how it is" +
        "\nread, SPLIT in which state its split is. Only partitions that are known by name are listed: the" +
        "\n1,000 largest by bytes and by events of the last walk, and those with a split." +
        "\n\nExample:\n  $ braid partitions plays --slice data_20261115 --top 20 --by events" +
        "\n  $ braid partitions plays --size 10MiB.. --buckets 3..7",
    )
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<PartitionsOptions>();
      const client = clientFor(options, terminal);
      await emitWatched(terminal, options, undefined, async () => {
        const page = await topOf(client, namespace, options, terminal.interrupted);
        return {
          value: page,
          records: page.partitions,
          blocks: [listing(page.partitions)],
          notes: notesOn(page, terminal.clock.nowMicros()),
        };
      });
    });
}

/** As one page, of as many as are wanted. */
async function topOf(
  client: BraidClient,
  namespace: string,
  { slice = "", top, by, ...wanted }: PartitionsOptions,
  signal: AbortSignal,
): Promise<PartitionPage> {
  const orderBy = by === "bytes" ? "BYTES" : "EVENTS";
  const filter = filterOf(wanted);
  const partitions: SizedPartition[] = [];
  for (let pageToken = ""; ;) {
    const pageSize = Math.min(top - partitions.length, PAGE_MAX);
    const call = { orderBy, pageSize, pageToken, filter, signal } as const;
    const page = await client.listPartitions(namespace, slice, call);
    partitions.push(...page.partitions);
    pageToken = page.nextPageToken;
    if (pageToken === "" || partitions.length >= top) return { ...page, partitions };
  }
}

function listing(partitions: readonly SizedPartition[]): Block {
  const rows = partitions.map((partition) => {
    const about = partition.exact ? "" : "~";
    return [
      partition.timeSeriesId,
      `${partition.timeBucket}/${partition.eventBucket}`,
      about + size(partition.bytes),
      about + count(partition.events),
      `${(partition.share * 100).toFixed(1)}%`,
      partition.route,
      partition.splitState ?? "",
      partition.splitId,
    ];
  });
  return table(
    ["ID", ">BUCKET", ">SIZE", ">EVENTS", ">SHARE", "?ROUTE", "SPLIT", "?=SPLIT ID"],
    rows,
  );
}

function notesOn(page: PartitionPage, now: number): string[] {
  const { asOf, complete, timeSlice, partitions, known, matching } = page;
  if (asOf === undefined) {
    const only = partitions.length === 0 ? "" : ": only what reads have detected is listed";
    return [
      `${timeSlice} was not measured yet${only}; a server or worker measures a slice when it is ` +
        "sealed, and the current one every walk.current_every",
    ];
  }
  const part = complete ? "" : ", in part: it reached walk.time_max";
  const none = partitions.length === 0 && known === 0 ? "; it had no events then" : "";
  const some =
    matching < known ? `; ${count(matching)} of the ${count(known)} that are known by name` : "";
  return [`${timeSlice} was measured at ${withRelative(asOf, now)}${part}${none}${some}`];
}

function filterOf({
  id,
  buckets,
  size: sizes,
}: Pick<PartitionsOptions, "id" | "buckets" | "size">): PartitionFilter {
  return { ...buckets, ...sizes, ...(id !== undefined && { timeSeriesId: id }) };
}

function bucketsArgument(text: string): PartitionFilter {
  const [timeBucketMin, timeBucketMax] = rangeOf(text, (bound) =>
    /^\d{1,9}$/.test(bound) ? Number(bound) : undefined,
  );
  return {
    ...(timeBucketMin !== undefined && { timeBucketMin }),
    ...(timeBucketMax !== undefined && { timeBucketMax }),
  };
}

function sizeArgument(text: string): PartitionFilter {
  const [bytesMin, bytesMax] = rangeOf(text, parseBytes);
  return {
    ...(bytesMin !== undefined && { bytesMin: String(bytesMin) }),
    ...(bytesMax !== undefined && { bytesMax: String(bytesMax) }),
  };
}

/** `3..7`, `3..`, `..7`: an end that is left out has no bound. */
function rangeOf(
  text: string,
  parse: (bound: string) => number | undefined,
): [from: number | undefined, to: number | undefined] {
  const bounds = text.split("..");
  const [from, to] = bounds.map((bound) => (bound === "" ? undefined : parse(bound)));
  const wrong = bounds.some((bound, nth) => bound !== "" && [from, to][nth] === undefined);
  if (bounds.length !== 2 || wrong || text === "..") {
    throw new InvalidArgumentError("must be a range such as 3..7, 3.. or ..7");
  }
  return [from, to];
}

function topArgument(text: string): number {
  const top = Number(text);
  if (Number.isInteger(top) && top >= 1 && top <= TOP_MAX) return top;
  throw new InvalidArgumentError(`must be a whole number from 1 to ${count(TOP_MAX)}`);
}
