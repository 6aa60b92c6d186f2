/** The slices of a namespace on a time line: how full each is, and where the partitioning changed. */
import type { TimeSlice } from "../../../client/connect.ts";
import { timeZone } from "../../frame/time-zone.ts";
import { ChartFrame } from "../../kit/chart-frame.tsx";
import { bytesText, nounText } from "../../kit/format.ts";
import { timeText } from "../../kit/when.tsx";
import { changedSlices, partitioningText } from "./partitioning.ts";

const WIDTH = 960;
const HEIGHT = 110;
/** Below the bars: the marks of changes and the times. */
const FOOT = 30;

export function SliceLine({ slices }: { slices: readonly TimeSlice[] }) {
  const [first, last] = [slices[0], slices.at(-1)];
  if (first === undefined || last === undefined) return null;
  const from = Date.parse(first.start);
  const to = Date.parse(last.end);
  const most = Math.max(1, ...slices.map(({ bytes }) => Number(bytes)));
  const changed = changedSlices(slices);
  const x = (time: string): number => ((Date.parse(time) - from) / (to - from)) * WIDTH;
  return (
    <ChartFrame
      title="Slices over time"
      name="slices"
      summary={summaryOf(slices, changed.size)}
      legend={
        <>
          {STATUSES.map((status) => (
            <span key={status} class="legend-item">
              <span class={`slice-key slice-${status.toLowerCase()}`} aria-hidden="true" />
              {status.toLowerCase()}
            </span>
          ))}
          <span class="legend-item">◆ partitioning changed</span>
        </>
      }
      table={() => ({
        heads: ["Slice", "From", "To", "Status", "Bytes", "Events", "Partitioning"],
        rows: slices.map(({ name, start, end, status, bytes, events, timePartition }) => [
          name,
          timeText(Date.parse(start), timeZone.value),
          timeText(Date.parse(end), timeZone.value),
          status,
          bytesText(Number(bytes)),
          events,
          partitioningText(timePartition),
        ]),
      })}
    >
      <svg
        class="slice-line"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={summaryOf(slices, changed.size)}
      >
        {slices.map((slice) => {
          const left = x(slice.start);
          const width = Math.max(1, x(slice.end) - left - 1);
          const height = Math.max(3, (Number(slice.bytes) / most) * (HEIGHT - FOOT - 6));
          return (
            <g key={slice.name}>
              <rect
                class={`slice slice-${slice.status.toLowerCase()}`}
                x={left}
                y={HEIGHT - FOOT - height}
                width={width}
                height={height}
              >
                <title>{titleOf(slice)}</title>
              </rect>
              {changed.has(slice.name) && (
                <line class="slice-change" x1={left} y1={0} x2={left} y2={HEIGHT - FOOT + 8}>
                  <title>{`From here: ${partitioningText(slice.timePartition)}`}</title>
                </line>
              )}
            </g>
          );
        })}
      </svg>
      <div class="slice-ends">
        <span>{timeText(from, timeZone.value, false)}</span>
        <span>{timeText(to, timeZone.value, false)}</span>
      </div>
    </ChartFrame>
  );
}

const STATUSES = ["SEALED", "ACTIVE", "UPCOMING", "CLOSED", "DROPPING"] as const;

function titleOf({ name, status, bytes, events, timePartition }: TimeSlice): string {
  return (
    `${name}: ${status}, ${bytesText(Number(bytes))}, ${nounText(Number(events), "event")}, ` +
    partitioningText(timePartition)
  );
}

function summaryOf(slices: readonly TimeSlice[], changes: number): string {
  const bytes = slices.reduce((sum, slice) => sum + Number(slice.bytes), 0);
  return (
    `${nounText(slices.length, "slice")} hold about ${bytesText(bytes)}; ` +
    (changes === 0
      ? "the partitioning is the same in all."
      : `the partitioning changed ${nounText(changes, "time")}.`)
  );
}
