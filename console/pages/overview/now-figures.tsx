/** The last minute in figures. */
import type { ServerStatus } from "../../../client/connect.ts";
import { maxOf, meanOf } from "../../api/samples.ts";
import type { History } from "../../api/use-history.ts";
import { durationText } from "../../kit/format.ts";
import { Figure, Figures } from "../../kit/page.tsx";
import { Count, Percent, Rate } from "../../kit/quantity.tsx";
import { IN_FLIGHT, splitsIn } from "./health.ts";

const MINUTE_MS = 60_000;

export function NowFigures({ status, history }: { status: ServerStatus; history: History }) {
  const samples = Math.max(1, Math.round(MINUTE_MS / history.stepMs));
  const mean = (name: string): number | undefined => meanOf(history.values(name), samples);
  const timeouts = mean("timeouts");
  const partial = mean("partial_returns");
  const refusals = mean("refusals");
  return (
    <Figures>
      <Figure label="Reads" note={<Latency history={history} of="read" samples={samples} />}>
        <Rate value={mean("reads")} noun="reads" />
      </Figure>
      <Figure label="Writes" note={<Latency history={history} of="write" samples={samples} />}>
        <Rate value={mean("writes")} noun="writes" />
      </Figure>
      <Figure label="Timeouts" tone={(timeouts ?? 0) > 0 ? "bad" : "idle"} note="no answer in time">
        <Rate value={timeouts} noun="timeouts" />
      </Figure>
      <Figure label="Partial returns" note="ended early">
        <Rate value={partial} noun="partial returns" />
      </Figure>
      <Figure label="Refusals" tone={(refusals ?? 0) > 0 ? "warn" : "idle"} note="by code below">
        <Rate value={refusals} noun="refusals" />
      </Figure>
      <Figure label="Wide share" note="of pages read">
        <Percent value={wideShare(mean)} />
      </Figure>
      <Figure label="Splits in flight" note={`${splitsIn(status, ["COMPLETED"])} completed`}>
        <Count value={splitsIn(status, IN_FLIGHT)} noun="split" />
      </Figure>
    </Figures>
  );
}

/** Pages that came from a wide partition, as the original or as its split. */
function wideShare(mean: (name: string) => number | undefined): number | undefined {
  const reads = mean("reads");
  if (reads === undefined || reads === 0) return undefined;
  return ((mean("reads.wide_original") ?? 0) + (mean("reads.split") ?? 0)) / reads;
}

function Latency({
  history,
  of,
  samples,
}: {
  history: History;
  of: "read" | "write";
  samples: number;
}) {
  const p50 = meanOf(history.values(`${of}_latency.p50`, 1000), samples);
  const p99 = maxOf(history.values(`${of}_latency.p99`, 1000), samples);
  if (p50 === undefined || p99 === undefined) return <>no latency yet</>;
  return (
    <>
      <span class="number" title="The mean of the last minute">
        p50 {durationText(p50)}
      </span>
      <span class="number" title="The largest of the last minute">
        p99 {durationText(p99)}
      </span>
    </>
  );
}
