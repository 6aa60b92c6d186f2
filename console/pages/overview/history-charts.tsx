/** Traffic, latency and trouble over time, and refusals by code. */
import { useMemo } from "preact/hooks";
import type { History } from "../../api/use-history.ts";
import { Bars } from "../../kit/bars.tsx";
import { durationText, nounText, rateText } from "../../kit/format.ts";
import { LineChart } from "../../kit/line-chart.tsx";

export function HistoryCharts({ history }: { history: History }) {
  const { times } = history;
  const lines = useMemo(() => linesOf(history), [history]);
  return (
    <div class="columns is-two">
      <LineChart
        title="Reads and writes"
        name="traffic"
        times={times}
        lines={lines.traffic}
        format={rateText}
      />
      <LineChart
        title="Timeouts, partial returns, refusals"
        name="trouble"
        times={times}
        lines={lines.trouble}
        format={rateText}
      />
      <LineChart
        title="Read latency"
        name="read-latency"
        times={times}
        lines={lines.readLatency}
        format={durationText}
      />
      <LineChart
        title="Write latency"
        name="write-latency"
        times={times}
        lines={lines.writeLatency}
        format={durationText}
      />
    </div>
  );
}

/** How many refusals of each code, in the time shown. */
export function RefusalCodes({ history }: { history: History }) {
  const codes = useMemo(() => refusalsOf(history), [history]);
  if (codes.length === 0) return <p>No request was refused in the time shown.</p>;
  return (
    <Bars caption="Refusals by code" bars={codes} format={(count) => nounText(count, "refusal")} />
  );
}

function linesOf(history: History) {
  const { values } = history;
  return {
    traffic: [
      { label: "reads", values: values("reads") },
      { label: "writes", values: values("writes") },
    ],
    trouble: [
      { label: "timeouts", values: values("timeouts"), colour: "--bad" },
      { label: "partial returns", values: values("partial_returns"), colour: "--series-1" },
      { label: "refusals", values: values("refusals"), colour: "--warn" },
    ],
    readLatency: [
      { label: "p50", values: values("read_latency.p50", 1000) },
      { label: "p99", values: values("read_latency.p99", 1000) },
    ],
    writeLatency: [
      { label: "p50", values: values("write_latency.p50", 1000) },
      { label: "p99", values: values("write_latency.p99", 1000) },
    ],
  };
}

const PREFIX = "refusals.";

/** How many of each code, the most first: the sum of the rates over the time shown. */
export function refusalsOf({ names, values, stepMs }: History) {
  return names
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => ({
      label: name.slice(PREFIX.length),
      value: Math.round(
        values(name).reduce<number>((sum, each) => sum + (each ?? 0), 0) * (stepMs / 1000),
      ),
      tone: "warn" as const,
    }))
    .filter(({ value }) => value > 0)
    .toSorted((a, b) => b.value - a.value);
}
