/** `braid histogram`: how large the partitions of a slice are, with the source and its limits. */
import type { Command } from "commander";
import type { PartitionHistogram, SizeReport } from "../../client/connect.ts";
import { line, pairs, table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { count, size } from "./print.ts";
import { withRelative } from "./relative-time.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

const BAR_CHARS = 40;

export function addHistogram(program: Command, terminal: Terminal): void {
  addWatchFlag(program.command("histogram <namespace> [slice]"))
    .description("show how large the partitions of a time slice are (default: the current one)")
    .addHelpText("after", "\nExample:\n  $ braid histogram plays data_20261115")
    .action(
      async (namespace: string, slice: string | undefined, _options: unknown, command: Command) => {
        const options = command.optsWithGlobals<GlobalOptions & WatchFlags>();
        const client = clientFor(options, terminal);
        await emitWatched(terminal, options, async () => {
          const call = { signal: terminal.interrupted };
          const histogram = await client.getHistogram(namespace, slice ?? "", call);
          const blocks = describe(histogram, terminal.clock.nowMicros());
          return { value: histogram, records: histogram.buckets, blocks };
        });
      },
    );
}

function describe(histogram: PartitionHistogram, nowMicros: number): Block[] {
  const { source, timeSlice, asOf, coverage, tells, doesNotTell, alternatives } = histogram;
  return [
    ...bars(histogram.buckets),
    pairs([
      ["slice", timeSlice],
      ["partitions", numbers(histogram)],
      ["source", `${source} at ${withRelative(asOf, nowMicros)}: ${coverage}`],
      ["shows", tells],
      ["leaves out", doesNotTell],
    ]),
    ...(alternatives.length === 0
      ? []
      : [line("other sources:"), ...alternatives.map(describeOther)]),
  ];
}

function describeOther(report: SizeReport): Block {
  const answer = report.reason === "" ? `${numbers(report)}; ${report.coverage}` : report.reason;
  return line(`  ${report.source}: ${answer}`);
}

function numbers(report: Omit<SizeReport, "reason">): string {
  const { p50, p99, mean, max } = report;
  if (report.count === "0") return "none seen";
  const sizes = [
    ...(p50 === undefined ? [] : [`p50 ${size(p50)}`]),
    ...(p99 === undefined ? [] : [`p99 ${size(p99)}`]),
    `mean ${size(mean)}`,
    `max ${size(max)}`,
  ];
  return `${count(report.count)}: ${sizes.join(", ")}`;
}

/** Merges buckets by powers of two: steps of a fifth are too fine for a screen. */
function bars(buckets: PartitionHistogram["buckets"]): Block[] {
  const partitions = new Map<number, number>();
  for (const bucket of buckets) {
    const power = Math.ceil(Math.log2(Number(bucket.upToBytes)));
    partitions.set(power, (partitions.get(power) ?? 0) + Number(bucket.partitions));
  }
  if (partitions.size === 0) return [];
  const most = Math.max(...partitions.values());
  const rows = [...partitions].map(([power, number]) => [
    size(2 ** power),
    count(number),
    "#".repeat(Math.ceil((number / most) * BAR_CHARS)),
  ]);
  return [table([">UP TO", ">PARTITIONS", ""], rows)];
}
