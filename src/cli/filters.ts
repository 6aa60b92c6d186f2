/** `braid filters`: the Bloom filters of the server that answers. */
import type { Command } from "commander";
import type { BraidClient, FilterPage, SliceFilter } from "../../client/connect.ts";
import { table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { count, duration, size } from "./print.ts";
import { relative } from "./relative-time.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

const PAGE_MAX = 1_000;

export function addFilters(program: Command, terminal: Terminal): void {
  addWatchFlag(program.command("filters [namespace]"))
    .description("list the Bloom filters of the server that answers (default: of all namespaces)")
    .addHelpText(
      "after",
      "\nA server has a filter for each slice that it reads. CHECKS counts the partitions that reads" +
        '\nlooked up, HITS the answers "perhaps", FALSE those that were wrong. RATE is the share of false' +
        "\nanswers for partitions without a split: observed / expected." +
        "\n\nExample:\n  $ braid filters plays\n  $ braid filters --watch",
    )
    .action(async (namespace: string | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & WatchFlags>();
      const client = clientFor(options, terminal);
      await emitWatched(terminal, options, undefined, async () => {
        const page = await allOf(client, namespace ?? "", terminal.interrupted);
        const { filters } = page;
        const blocks = [listing(filters, terminal.clock.nowMicros())];
        return { value: page, records: filters, blocks, notes: notesOn(page, namespace) };
      });
    });
}

/** As one page; a server has at most 10,000. */
async function allOf(
  client: BraidClient,
  namespace: string,
  signal: AbortSignal,
): Promise<FilterPage> {
  const filters: SliceFilter[] = [];
  for (let pageToken = ""; ;) {
    const page = await client.listFilters({ namespace, pageSize: PAGE_MAX, pageToken, signal });
    filters.push(...page.filters);
    pageToken = page.nextPageToken;
    if (pageToken === "") return { ...page, filters };
  }
}

function listing(filters: readonly SliceFilter[], nowMicros: number): Block {
  const rows = filters.map((filter) => [
    filter.namespace,
    filter.timeSlice,
    count(filter.entries),
    size(filter.bytes),
    count(filter.checks),
    count(filter.hits),
    count(filter.falsePositives),
    `${rate(filter.observedRate)} / ${rate(filter.expectedRate)}`,
    duration(filter.age),
    relative(filter.loadTime, nowMicros),
  ]);
  return table(
    [
      "NAMESPACE",
      "=SLICE",
      ">ENTRIES",
      ">SIZE",
      ">CHECKS",
      ">HITS",
      ">FALSE",
      ">RATE",
      ">AGE",
      "LOADED",
    ],
    rows,
  );
}

function rate(share: number | undefined): string {
  if (share === undefined) return "-";
  return `${(share * 100).toFixed(2)}%`;
}

function notesOn(
  { process, total, totalBytes, filters }: FilterPage,
  namespace: string | undefined,
): string[] {
  if (total === 0) {
    const what = namespace === undefined ? "" : ` of ${namespace}`;
    return [`${process} has no filter${what} yet: it loads one when a slice is first read`];
  }
  const [configured] = filters.map(({ configuredRate }) => configuredRate);
  return [
    `${process} has ${count(total)} ${total === 1 ? "filter" : "filters"}, ${size(totalBytes)}; ` +
      `a full one is wrong for at most ${rate(configured)}. Other servers have read other slices.`,
  ];
}
