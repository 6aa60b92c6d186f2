/** `braid splits summary`: numbers by state, sizes before and after, and the space of the copies. */
import type { Command } from "commander";
import type { BraidClient, SplitSummary, SplitSummaryPage } from "../../client/connect.ts";
import { line, pairs, table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { count, size } from "./print.ts";
import { withRelative } from "./relative-time.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

type Sizes = SplitSummary["before"];

export function addSplitsSummary(splits: Command, terminal: Terminal): void {
  addWatchFlag(splits.command("summary [namespace]"))
    .description("count splits by state, with sizes before and after and the space of the copies")
    .addHelpText(
      "after",
      "\nA worker counts once a minute. BEFORE is each partition as far as it is split, AFTER each of its parts." +
        "\n\nExample:\n  $ braid splits summary\n  $ braid splits summary plays -o json",
    )
    .action(async (namespace: string | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & WatchFlags>();
      const client = clientFor(options, terminal);
      const { clock, interrupted } = terminal;
      await emitWatched(terminal, options, { client, topics: ["SPLITS"], namespace }, async () => {
        const found = await all(client, namespace ?? "", interrupted);
        return {
          value: found,
          records: found.namespaces.map(record),
          columns: COLUMNS,
          blocks: report(found, namespace, clock.nowMicros()),
          notes: notesOf(found),
        };
      });
    });
}

async function all(
  client: BraidClient,
  namespace: string,
  signal: AbortSignal,
): Promise<Omit<SplitSummaryPage, "nextPageToken">> {
  const namespaces: SplitSummary[] = [];
  let pageToken = "";
  for (;;) {
    const page = await client.splits.summary(namespace, { pageToken, signal });
    namespaces.push(...page.namespaces);
    const { nextPageToken, ...rest } = page;
    if (nextPageToken === "") return { ...rest, namespaces };
    pageToken = nextPageToken;
  }
}

function report(
  { total, namespaces, countTime }: Omit<SplitSummaryPage, "nextPageToken">,
  namespace: string | undefined,
  nowMicros: number,
): Block[] {
  const [only] = namespaces;
  const shown = namespace === undefined ? total : only;
  if (countTime === undefined || shown === undefined) return [];
  const { before, after } = shown;
  const blocks = [
    pairs([
      ["counted", withRelative(countTime, nowMicros)],
      ["splits", statesOf(shown)],
      ["before", sizesOf(before, "partition")],
      ["after", sizesOf(after, "part")],
      ["served", `${size(shown.divertedBytes)} of events may be read from splits`],
      ["space", `${size(shown.storageBytes)} in addition to the originals`],
    ]),
    ...(Number(before.count) === 0 ? [] : [line(""), sizeTable(before, after)]),
  ];
  if (namespace !== undefined || namespaces.length === 0) return blocks;
  const rows = namespaces.map((each) => [
    each.namespace,
    count(splitsOf(each)),
    statesOf(each),
    size(each.before.max),
    size(each.after.max),
    size(each.storageBytes),
  ]);
  const heads = ["NAMESPACE", ">SPLITS", "STATES", ">LARGEST BEFORE", ">AFTER", ">SPACE"];
  return [...blocks, line(""), table(heads, rows)];
}

function notesOf({ total, countTime }: Omit<SplitSummaryPage, "nextPageToken">): string[] {
  if (countTime === undefined || total === undefined) {
    return ["the splits were not counted yet: a worker counts them within a minute of its start"];
  }
  const notes: string[] = [];
  if (total.unreadable !== "0") {
    notes.push(`${count(total.unreadable)} records or slices could not be read and are left out`);
  }
  if (total.partsEstimated !== "0") {
    notes.push(
      `the sizes of ${count(total.partsEstimated)} parts are means: an earlier version made these copies`,
    );
  }
  return notes;
}

function splitsOf({ states }: SplitSummary): number {
  return states.reduce((sum, state) => sum + Number(state.count), 0);
}

function statesOf({ states }: SplitSummary): string {
  const there = states.filter((state) => state.count !== "0");
  if (there.length === 0) return "none";
  return there.map(({ state, count: number }) => `${count(number)} ${state}`).join(", ");
}

function sizesOf({ count: number, p50, p99, max }: Sizes, what: string): string {
  if (number === "0") return "none";
  const plural = number === "1" ? what : `${what}s`;
  return `${count(number)} ${plural}: median ${size(p50)}, p99 ${size(p99)}, largest ${size(max)}`;
}

/** One row for each power of two that any of the two has. */
function sizeTable(before: Sizes, after: Sizes): Block {
  const [first, second] = [doublings(before), doublings(after)];
  const bounds = [...new Set([...first.keys(), ...second.keys()])].toSorted((a, b) => a - b);
  const rows = bounds.map((bound) => [
    size(bound),
    count(first.get(bound) ?? 0),
    count(second.get(bound) ?? 0),
  ]);
  return table([">UP TO", ">BEFORE", ">AFTER"], rows);
}

function doublings({ buckets, max }: Sizes): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { upTo, count: number } of buckets) {
    const bound = 2 ** Math.ceil(Math.log2(Math.min(Number(upTo), Number(max))));
    counts.set(bound, (counts.get(bound) ?? 0) + Number(number));
  }
  return counts;
}

const COLUMNS = [
  "namespace",
  "splits",
  "partitions",
  "beforeBytes",
  "beforeMax",
  "parts",
  "afterMax",
  "divertedBytes",
  "storageBytes",
] as const;

function record(summary: SplitSummary): Record<(typeof COLUMNS)[number], unknown> {
  const { namespace, before, after, divertedBytes, storageBytes } = summary;
  return {
    namespace,
    splits: splitsOf(summary),
    partitions: before.count,
    beforeBytes: before.total,
    beforeMax: before.max,
    parts: after.count,
    afterMax: after.max,
    divertedBytes,
    storageBytes,
  };
}
