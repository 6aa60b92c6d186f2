/** `braid metrics`: what the server has kept of its own figures, without Prometheus. */
import type { Command } from "commander";
import type { MetricSeries, MetricsHistory } from "../../client/connect.ts";
import { table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { size } from "./print.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

interface MetricsOptions extends GlobalOptions, WatchFlags {
  readonly seconds?: boolean;
  readonly series?: string;
}

const CHART_CHARS = 30;
const BARS = "▁▂▃▄▅▆▇█";

export function addMetrics(program: Command, terminal: Terminal): void {
  addWatchFlag(program.command("metrics [namespace]"))
    .description("show the figures of the server that answers over the last 24 hours")
    .option("--seconds", "the last 10 minutes second by second instead of minute by minute")
    .option(
      "--series <names>",
      'names separated by commas; one that ends with a dot, such as "read_latency.", is a beginning',
    )
    .addHelpText(
      "after",
      "\nEach server knows only what it did itself since it started. LAST to MAX leave out times without a" +
        "\nvalue. -o csv prints a row for each time. docs/operate/metrics.md explains the series." +
        "\n\nExample:\n  $ braid metrics --series reads,read_latency.\n  $ braid metrics plays --seconds -o csv",
    )
    .action(async (namespace: string | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<MetricsOptions>();
      const client = clientFor(options, terminal);
      const series = (options.series ?? "").split(",").flatMap((each) => each.trim() || []);
      const resolution = options.seconds === true ? "SECOND" : "MINUTE";
      const call = { resolution, namespace: namespace ?? "", series } as const;
      await emitWatched(terminal, options, undefined, async () => {
        const history = await client.getMetricsHistory({ ...call, signal: terminal.interrupted });
        return {
          value: history,
          records: samplesOf(history),
          columns: ["time"],
          blocks: [listing(history)],
          notes: notesOn(history, namespace),
        };
      });
    });
}

function listing({ series }: MetricsHistory): Block {
  const rows = series.map((each) => {
    const values = each.values.filter((value) => value !== null);
    const sum = values.reduce((total, value) => total + value, 0);
    const shown = (value: number | undefined): string =>
      value === undefined ? "-" : figure(value, each.unit);
    const none = values.length === 0;
    return [
      each.name,
      shown(values.at(-1)),
      shown(none ? undefined : Math.min(...values)),
      shown(none ? undefined : sum / values.length),
      shown(none ? undefined : Math.max(...values)),
      each.unit,
      chart(each.values),
    ];
  });
  return table(["=SERIES", ">LAST", ">MIN", ">MEAN", ">MAX", "UNIT", "?OVER TIME"], rows);
}

/** A row for each sample: its time, and the value of each series, empty in a gap. */
function samplesOf({ startTime, step, samples, series }: MetricsHistory): object[] {
  if (startTime === undefined) return [];
  const start = Date.parse(startTime);
  const stepMs = Number(step.replace(/s$/, "")) * 1000;
  return Array.from({ length: samples }, (_, nth) => {
    const values = series.map(({ name, values: all }) => [name, all[nth] ?? ""] as const);
    return { time: new Date(start + nth * stepMs).toISOString(), ...Object.fromEntries(values) };
  });
}

function notesOn(history: MetricsHistory, namespace: string | undefined): string[] {
  const { process, processStartTime, namespaces, series } = history;
  const of = `of ${process}, since ${processStartTime}`;
  if (series.length > 0 || namespace === undefined) return [of];
  const busiest = namespaces.length === 0 ? "none yet" : namespaces.join(", ");
  return [of, `${namespace} has no series: only the busiest namespaces have (${busiest})`];
}

function figure(value: number, unit: string): string {
  if (unit.startsWith("B")) return size(Math.round(value));
  return Number(value.toPrecision(3)).toLocaleString("en-US", { maximumSignificantDigits: 3 });
}

/** The highest value of each range of time, as a row of bars; a gap is a space. */
function chart(values: MetricSeries["values"]): string {
  const per = Math.max(1, Math.ceil(values.length / CHART_CHARS));
  const ranges = Array.from({ length: Math.ceil(values.length / per) }, (_, nth) =>
    values.slice(nth * per, (nth + 1) * per).filter((value) => value !== null),
  );
  const top = Math.max(0, ...ranges.flat());
  return ranges
    .map((range) => {
      if (range.length === 0) return " ";
      const share = top === 0 ? 0 : Math.max(...range) / top;
      return BARS[Math.min(BARS.length - 1, Math.floor(share * BARS.length))] ?? " ";
    })
    .join("");
}
