/** `braid histogram`: how large the partitions of a slice are, with who says so and what it cannot tell. */
import type { Command } from "commander";
import type { PartitionHistogram, SizeReport } from "../../client/connect.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { count, json, pairs, printable, size, table } from "./print.ts";
import type { Terminal } from "./terminal.ts";

const BAR_CHARS = 40;

export function addHistogram(program: Command, terminal: Terminal): void {
  program
    .command("histogram <namespace> [slice]")
    .description("show how large the partitions of a time slice are (default: the present one)")
    .addHelpText("after", "\nExample:\n  $ braid histogram plays data_20261115")
    .action(
      async (namespace: string, slice: string | undefined, _options: unknown, command: Command) => {
        const options = command.optsWithGlobals<GlobalOptions>();
        const call = { signal: terminal.interrupted };
        const client = clientFor(options, terminal);
        const histogram = await client.getHistogram(namespace, slice ?? "", call);
        await terminal.print(options.json === true ? json(histogram) : describe(histogram));
      },
    );
}

function describe(histogram: PartitionHistogram): string {
  const { source, timeSlice, asOf, coverage, tells, doesNotTell, alternatives } = histogram;
  const others = alternatives.map(describeOther).join("");
  return (
    bars(histogram.buckets) +
    pairs([
      ["slice", timeSlice],
      ["partitions", numbers(histogram)],
      ["source", `${source} at ${asOf}: ${coverage}`],
      ["tells", tells],
      ["not told", doesNotTell],
    ]) +
    (others === "" ? "" : `other sources:\n${others}`)
  );
}

function describeOther(report: SizeReport): string {
  const said = report.reason === "" ? `${numbers(report)}; ${report.coverage}` : report.reason;
  return `  ${report.source}: ${printable(said)}\n`;
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

/** Buckets are put together by powers of two: a fifth is too fine for a screen. */
function bars(buckets: PartitionHistogram["buckets"]): string {
  const partitions = new Map<number, number>();
  for (const bucket of buckets) {
    const power = Math.ceil(Math.log2(Number(bucket.upToBytes)));
    partitions.set(power, (partitions.get(power) ?? 0) + Number(bucket.partitions));
  }
  if (partitions.size === 0) return "";
  const most = Math.max(...partitions.values());
  const rows = [...partitions].map(([power, number]) => [
    size(2 ** power),
    count(number),
    "#".repeat(Math.ceil((number / most) * BAR_CHARS)),
  ]);
  return table([">UP TO", ">PARTITIONS", ""], rows);
}
