/**
 * A distribution as columns, on a logarithmic scale: sizes, latencies. The target is a band behind
 * the columns, limits are lines. A second distribution is drawn over the first as an outline.
 */
import { ChartFrame } from "./chart-frame.tsx";
import { countText, nounText } from "./format.ts";
import type { HistogramBucket } from "./histogram-bucket.ts";
import { useWidth } from "./use-width.ts";

export type { HistogramBucket } from "./histogram-bucket.ts";

export interface HistogramProps {
  readonly title: string;
  /** In the address, for the table view. */
  readonly name: string;
  readonly buckets: readonly HistogramBucket[];
  /** A value with its unit: `bytesText`. */
  readonly format: (value: number) => string;
  /** What is counted: "partition". */
  readonly noun: string;
  readonly summary: string;
  /** What the columns are called in the legend, if there is an overlay. */
  readonly label?: string;
  /** Drawn over the columns: after a tuning, a prediction. */
  readonly overlay?: { readonly label: string; readonly buckets: readonly HistogramBucket[] };
  /** The range that values should have. */
  readonly band?: { readonly from: number; readonly to: number; readonly label: string };
  /** Vertical lines: a limit, percentiles. */
  readonly marks?: readonly HistogramMark[];
  readonly height?: number;
  /** Called with the bucket that is clicked. */
  readonly onBucket?: (bucket: HistogramBucket) => void;
}

export interface HistogramMark {
  readonly at: number;
  readonly label: string;
  /** `proposed`: not so now, but as a dry run predicts it. */
  readonly tone?: "bad" | "soft" | "proposed";
}

const AXIS_PX = 20;
const TOP_PX = 18;
/** The label of the band leaves room for that of the scale, which is at the left. */
const BAND_LABEL_PX = 190;

export function Histogram(props: HistogramProps) {
  const { title, name, format, noun, summary, overlay, label = "Now", height = 200 } = props;
  const [holder, width] = useWidth<HTMLDivElement>();
  return (
    <ChartFrame
      title={title}
      name={name}
      summary={summary}
      legend={overlay !== undefined && <Legend first={label} second={overlay.label} />}
      table={() => tableOf(props)}
    >
      <div class="histogram" ref={holder} style={{ height: `${height}px` }}>
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label={`${title}. ${summary}`}>
            <Drawing {...props} width={width} height={height} format={format} noun={noun} />
          </svg>
        )}
      </div>
    </ChartFrame>
  );
}

function Drawing({
  buckets,
  overlay,
  band,
  marks = [],
  format,
  noun,
  width,
  height,
  onBucket,
}: HistogramProps & { width: number; height: number }) {
  const all = [...buckets, ...(overlay?.buckets ?? [])];
  const scale = logScale(all, band, marks, width);
  const most = Math.max(...all.map(({ count }) => count), 1);
  const base = height - AXIS_PX;
  const yOf = (count: number): number => base - (count / most) * (base - TOP_PX);
  // A bucket of one partition among millions is still seen.
  const top = (count: number): number => (count === 0 ? base : Math.min(yOf(count), base - 2));
  return (
    <>
      {band !== undefined && (
        <g class="histogram-band">
          <rect
            x={scale.x(band.from)}
            y={TOP_PX}
            width={Math.max(1, scale.x(band.to) - scale.x(band.from))}
            height={base - TOP_PX}
          />
          <text
            x={Math.max(BAND_LABEL_PX, (scale.x(band.from) + scale.x(band.to)) / 2)}
            y={12}
            text-anchor="middle"
          >
            {band.label}
          </text>
        </g>
      )}
      {buckets.map(({ from, to, count }) => {
        const x = scale.x(from);
        return (
          <g
            key={from}
            onClick={onBucket === undefined ? undefined : () => onBucket({ from, to, count })}
          >
            <rect
              class={onBucket === undefined ? "histogram-bar" : "histogram-bar is-clickable"}
              x={x + 0.5}
              y={top(count)}
              width={Math.max(1, scale.x(to) - x - 1)}
              height={base - top(count)}
            />
            <rect
              class="histogram-hit"
              x={x}
              y={TOP_PX}
              width={scale.x(to) - x}
              height={base - TOP_PX}
            >
              <title>{`${format(from)} to ${format(to)}: ${nounText(count, noun)}`}</title>
            </rect>
          </g>
        );
      })}
      {overlay !== undefined && (
        <path class="histogram-overlay" d={outline(overlay.buckets, scale.x, top, base)} />
      )}
      {marks.map(({ at, label, tone = "soft" }, index) => (
        <Mark key={label} x={scale.x(at)} {...{ label, tone, base, width }} row={index % 3} />
      ))}
      <line class="histogram-axis" x1={0} x2={width} y1={base} y2={base} />
      <line class="histogram-most" x1={0} x2={width} y1={TOP_PX} y2={TOP_PX} />
      <text class="histogram-tick" x={0} y={12}>
        {overlay === undefined ? nounText(most, noun) : countText(most)}
      </text>
      {scale.ticks.map((tick) => (
        <text
          key={tick}
          class="histogram-tick"
          x={scale.x(tick)}
          y={height - 5}
          text-anchor={anchorOf(scale.x(tick), width)}
        >
          {format(tick)}
        </text>
      ))}
    </>
  );
}

function Mark({
  x,
  label,
  tone,
  base,
  width,
  row,
}: {
  x: number;
  label: string;
  tone: NonNullable<HistogramMark["tone"]>;
  base: number;
  width: number;
  row: number;
}) {
  const left = x > width * 0.7;
  return (
    <g class={`histogram-mark is-${tone}`}>
      <line x1={x} x2={x} y1={TOP_PX} y2={base} />
      <text
        x={left ? x - 4 : x + 4}
        y={TOP_PX + 11 + row * 13}
        text-anchor={left ? "end" : "start"}
      >
        {label}
      </text>
    </g>
  );
}

function Legend({ first, second }: { first: string; second: string }) {
  return (
    <>
      <span class="legend-item">
        <span class="legend-box" aria-hidden="true" /> {first}
      </span>
      <span class="legend-item">
        <span class="legend-outline" aria-hidden="true" /> {second}
      </span>
    </>
  );
}

interface Scale {
  readonly x: (value: number) => number;
  readonly ticks: readonly number[];
}

/** The text of the first and the last tick stays inside the picture. */
const TICK_PX = 80;

function logScale(
  buckets: readonly HistogramBucket[],
  band: HistogramProps["band"],
  marks: readonly HistogramMark[],
  width: number,
): Scale {
  const values = [
    ...buckets.flatMap(({ from, to }) => [from, to]),
    ...(band === undefined ? [] : [band.from, band.to]),
    ...marks.map(({ at }) => at),
  ].filter((value) => value > 0);
  const low = Math.log2(Math.min(...values, 1_024));
  const high = Math.max(Math.log2(Math.max(...values, 1)), low + 1);
  const x = (value: number): number =>
    ((Math.log2(Math.max(value, 2 ** low)) - low) / (high - low)) * width;
  const step = Math.max(1, Math.ceil((high - low) / Math.max(1, width / TICK_PX)));
  const first = Math.ceil(low);
  const count = Math.max(1, Math.floor((high - first) / step) + 1);
  return { x, ticks: Array.from({ length: count }, (_, index) => 2 ** (first + index * step)) };
}

function outline(
  buckets: readonly HistogramBucket[],
  x: (value: number) => number,
  y: (count: number) => number,
  base: number,
): string {
  const [first] = buckets;
  if (first === undefined) return "";
  const steps = buckets.map(
    ({ from, to, count }) => `L${x(from)} ${y(count)}L${x(to)} ${y(count)}`,
  );
  return `M${x(first.from)} ${base}${steps.join("")}L${x(buckets.at(-1)?.to ?? 0)} ${base}`;
}

function anchorOf(x: number, width: number): "start" | "middle" | "end" {
  if (x < TICK_PX / 2) return "start";
  return x > width - TICK_PX / 2 ? "end" : "middle";
}

function tableOf({ buckets, overlay, format, noun, label = "Now" }: HistogramProps) {
  const plural = `${noun}s`;
  const others = new Map(overlay?.buckets.map(({ from, count }) => [from, count]));
  return {
    heads: ["From", "To", overlay === undefined ? plural : `${label}, ${plural}`].concat(
      overlay === undefined ? [] : [`${overlay.label}, ${plural}`],
    ),
    rows: buckets.map(({ from, to, count }) => [
      format(from),
      format(to),
      nounText(count, noun),
      ...(overlay === undefined ? [] : [nounText(others.get(from) ?? 0, noun)]),
    ]),
  };
}
