/** `braid histogram`: how large the partitions of a slice are, with the source and its limits. */
import type { Command } from "commander";
import type { PartitionHistogram, SizeReport, SliceHistogram } from "../../client/connect.ts";
import { line, pairs, table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { count, millis, size } from "./print.ts";
import { withRelative } from "./relative-time.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

const BAR_CHARS = 40;

interface HistogramOptions extends GlobalOptions, WatchFlags {
  readonly history?: boolean;
}

export function addHistogram(program: Command, terminal: Terminal): void {
  addWatchFlag(program.command("histogram <namespace> [slice]"))
    .description("show how large the partitions of a time slice are (default: the current one)")
    .option("--history", "show the last measurement of every slice instead, dropped ones too")
    .addHelpText(
      "after",
      "\nBars marked with | lie in the size that partitions should have: tuning.densityMinBytes to" +
        "\ntuning.densityMaxBytes of the namespace." +
        "\n\nExample:\n  $ braid histogram plays data_20261115\n  $ braid histogram plays --history",
    )
    .action(
      async (namespace: string, slice: string | undefined, _options: unknown, command: Command) => {
        const options = command.optsWithGlobals<HistogramOptions>();
        const client = clientFor(options, terminal);
        const history = options.history === true;
        await emitWatched(terminal, options, undefined, async () => {
          const call = { signal: terminal.interrupted, ...(history && { history }) };
          const histogram = await client.getHistogram(namespace, slice ?? "", call);
          if (history) {
            const blocks = [pastSlices(histogram)];
            const notes = histogram.history.length === 0 ? [NOT_WALKED] : [];
            const list = "history";
            return { value: histogram, records: histogram.history, list, blocks, notes };
          }
          const blocks = describe(histogram, terminal.clock.nowMicros());
          return { value: histogram, records: histogram.buckets, list: "buckets", blocks };
        });
      },
    );
}

const NOT_WALKED =
  "no slice was measured yet: a server or worker measures each slice when it is sealed, and the " +
  "current one every walk.current_every";

/** One line per slice, oldest first. */
function pastSlices({ history, ...band }: PartitionHistogram): Block {
  const rows = history.map((past) => [
    past.timeSlice,
    past.sealed ? "yes" : "no",
    past.timePartition === undefined ? "" : millis(past.timePartition.secondsPerTimeBucket * 1_000),
    count(past.timePartition?.eventBuckets ?? 1),
    count(past.bytes?.count ?? 0),
    known(past.bytes?.p50, size),
    known(past.bytes?.p99, size),
    size(past.bytes?.max ?? 0),
    known(past.events?.p99, count),
    inTarget(past, targetOf(band)),
    past.source,
    past.excludes.join("; "),
  ]);
  const heads = ["=SLICE", "SEALED", ">BUCKET", "?>EVENT BUCKETS", ">PARTITIONS", ">P50", ">P99"];
  return table([...heads, ">MAX", "?>EVENTS P99", "TARGET", "?SOURCE", "?LEAVES OUT"], rows);
}

/** No partition has 0 bytes or events: 0 means that the source does not know. */
function known(value: string | undefined, shown: (value: string) => string): string {
  return value === undefined || value === "0" ? "" : shown(value);
}

/** Where most partitions lie: a few large ones do not count, nor many small ones. */
function inTarget({ bytes }: SliceHistogram, target: Target | undefined): string {
  if (target === undefined || bytes === undefined || bytes.p99 === "0") return "";
  if (Number(bytes.p99) < target.min) return "below";
  return Number(bytes.p99) > target.max ? "above" : "inside";
}

interface Target {
  readonly min: number;
  readonly max: number;
}

function targetOf({
  densityMinBytes,
  densityMaxBytes,
}: Pick<PartitionHistogram, "densityMinBytes" | "densityMaxBytes">): Target | undefined {
  const [min, max] = [Number(densityMinBytes ?? 0), Number(densityMaxBytes ?? 0)];
  return max > 0 ? { min, max } : undefined;
}

function describe(histogram: PartitionHistogram, nowMicros: number): Block[] {
  const { source, timeSlice, asOf, coverage, tells, doesNotTell, alternatives, events } = histogram;
  const target = targetOf(histogram);
  return [
    ...bars(histogram.buckets, target),
    pairs([
      ["slice", timeSlice],
      ["partitions", numbers(histogram)],
      ...(events === undefined || events.count === "0"
        ? []
        : [["events", eventNumbers(events)] as const]),
      ...(target === undefined
        ? []
        : [["target", `${size(target.min)} to ${size(target.max)}`] as const]),
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

function numbers(report: Omit<SizeReport, "reason"> | PartitionHistogram): string {
  if (report.count === "0") return "none seen";
  const { p50, p99, mean, max } = report;
  const rest = "buckets" in report ? report : undefined;
  const named: readonly (readonly [string, string | undefined])[] = [
    ["min", rest?.min],
    ["p50", p50],
    ["p75", rest?.p75],
    ["p95", rest?.p95],
    ["p98", rest?.p98],
    ["p99", p99],
    ["mean", mean],
    ["max", max],
  ];
  const known = named.flatMap(([name, bytes]) =>
    bytes === undefined ? [] : [`${name} ${size(bytes)}`],
  );
  return `${count(report.count)}: ${known.join(", ")}`;
}

function eventNumbers(events: NonNullable<PartitionHistogram["events"]>): string {
  const names = ["min", "p50", "p75", "p95", "p98", "p99", "max"] as const;
  return names.map((name) => `${name} ${count(events[name])}`).join(", ");
}

/** Merges buckets by powers of two: steps of a fifth are too fine for a screen. */
function bars(buckets: PartitionHistogram["buckets"], target: Target | undefined): Block[] {
  const partitions = new Map<number, number>();
  for (const bucket of buckets) {
    const power = powerOf(Number(bucket.upToBytes));
    partitions.set(power, (partitions.get(power) ?? 0) + Number(bucket.partitions));
  }
  if (partitions.size === 0) return [];
  const most = Math.max(...partitions.values());
  const shown = [
    ...partitions.keys(),
    ...(target ? [powerOf(target.min) + 1, powerOf(target.max)] : []),
  ];
  const [first, last] = [Math.min(...shown), Math.max(...shown)];
  const rows = Array.from({ length: last - first + 1 }, (_, nth) => {
    const power = first + nth;
    const number = partitions.get(power) ?? 0;
    const bar = "#".repeat(Math.ceil((number / most) * BAR_CHARS));
    if (target === undefined) return [size(2 ** power), count(number), bar];
    const isTarget = 2 ** power > target.min && 2 ** (power - 1) < target.max;
    return [size(2 ** power), count(number), isTarget ? "|" : "", bar];
  });
  const heads = [">UP TO", ">PARTITIONS"];
  return [table(target === undefined ? [...heads, ""] : [...heads, "", ""], rows)];
}

function powerOf(bytes: number): number {
  return Math.ceil(Math.log2(Math.max(1, bytes)));
}
