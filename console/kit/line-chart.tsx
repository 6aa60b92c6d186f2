/** Lines over time, by uPlot. A gap in the data is a gap in the line. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { colours } from "../frame/theme.ts";
import { timeZone } from "../frame/time-zone.ts";
import { ChartFrame } from "./chart-frame.tsx";
import { colourOf, SERIES } from "./colour.ts";
import { timeText } from "./when.tsx";

export interface Line {
  readonly label: string;
  /** One for each time; null where nothing is known. */
  readonly values: readonly (number | null)[];
  /** A token such as "--bad" instead of the next colour of the series. */
  readonly colour?: string;
}

export interface LineChartProps {
  readonly title: string;
  /** In the address, for the table view. */
  readonly name: string;
  /** Milliseconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  /** A value with its unit: "12.3/s". */
  readonly format: (value: number) => string;
  /** One sentence; without it the last values. */
  readonly summary?: string;
  readonly height?: number;
  /** The scale begins at zero unless this is given; "log" for sizes and latencies of many scales. */
  readonly scale?: "log";
  /** Of bytes, the ticks are powers of two. */
  readonly unit?: "bytes";
}

export function LineChart(props: LineChartProps) {
  const { title, name, times, lines, format, height = 180 } = props;
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const zone = timeZone.value;
  const theme = colours.value;
  const shape = lines.map(({ label, colour = "" }) => `${label} ${colour}`).join("|");
  const data = useMemo(() => dataOf(times, lines), [times, lines]);

  useEffect(() => {
    const element = holder.current;
    if (element === null) return undefined;
    const made = new uPlot(optionsOf(props, element.clientWidth, zone === "UTC"), data, element);
    plot.current = made;
    const resized = new ResizeObserver(() => {
      made.setSize({ width: element.clientWidth, height });
    });
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [shape, zone, theme, height, props.scale]);

  useEffect(() => {
    plot.current?.setData(data);
  }, [data]);

  const summary = props.summary ?? lastText(lines, format);
  return (
    <ChartFrame
      title={title}
      name={name}
      summary={summary}
      legend={<Legend lines={lines} />}
      table={() => ({
        heads: ["Time", ...lines.map(({ label }) => label)],
        rows: times
          .map((time, index) => [
            timeText(time, zone),
            ...lines.map(({ values }) => valueText(values[index], format)),
          ])
          .toReversed(),
      })}
    >
      <div
        class="line-chart"
        ref={holder}
        role="img"
        aria-label={`${title}. ${summary}`}
        style={{ height: `${height}px` }}
      />
    </ChartFrame>
  );
}

function Legend({ lines }: { lines: readonly Line[] }) {
  return (
    <>
      {lines.map(({ label, colour }, index) => (
        <span key={label} class="legend-item">
          <svg viewBox="0 0 18 4" class="legend-line" aria-hidden="true">
            <line
              x1="0"
              y1="2"
              x2="18"
              y2="2"
              style={{ stroke: `var(${colour ?? seriesOf(index).token})` }}
              stroke-dasharray={seriesOf(index).dash.join(" ")}
            />
          </svg>
          {label}
        </span>
      ))}
    </>
  );
}

function seriesOf(index: number): (typeof SERIES)[number] {
  return SERIES[index % SERIES.length] ?? { token: "--series-1", dash: [] };
}

function dataOf(times: readonly number[], lines: readonly Line[]): uPlot.AlignedData {
  return [times.map((ms) => ms / 1000), ...lines.map(({ values }) => [...values])];
}

function optionsOf(props: LineChartProps, width: number, utc: boolean): uPlot.Options {
  const { lines, format, height = 180, scale, unit } = props;
  const base = unit === "bytes" ? 2 : 10;
  const grid = { stroke: colourOf("--line"), width: 1 };
  const axis = {
    stroke: colourOf("--ink-soft"),
    font: "11px system-ui, sans-serif",
    grid,
    ticks: { show: false },
  };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { points: { size: 6 }, y: false, drag: { x: false, y: false } },
    ...(utc && { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC") }),
    scales: {
      x: { time: true },
      y:
        scale === "log"
          ? { distr: 3, log: base, range: (_plot, min, max) => logRange(min, max, base) }
          : { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      { ...axis, values: TIME_TICKS, space: 70, size: 40, gap: 9 },
      {
        ...axis,
        size: 64,
        space: 32,
        ...(unit === "bytes" && scale !== "log" && { incrs: POWERS_OF_TWO }),
        values: (_plot: uPlot, ticks: (number | null)[]) =>
          ticks.map((tick) => (tick === null ? "" : format(tick))),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, colour }, index) => {
        const { token, dash } = seriesOf(index);
        return {
          label,
          stroke: colourOf(colour ?? token),
          width: 1.5,
          dash: [...dash],
          points: { show: false },
        };
      }),
    ],
    plugins: [tooltip(lines, format)],
  };
}

const POWERS_OF_TWO = Array.from({ length: 56 }, (_, nth) => 2 ** (nth - 3));

/** Whole powers of the base, so that there are ticks, with room below the lowest line. */
function logRange(min: number, max: number, base: 2 | 10): uPlot.Range.MinMax {
  if (!(min > 0)) return [1, base];
  const power = (value: number): number => Math.log(value) / Math.log(base);
  const low = Math.floor(power(min) - 0.05);
  return [base ** low, base ** Math.max(Math.ceil(power(max) + 0.05), low + 1)];
}

/** 24 hours, never AM and PM. Each: at least this many seconds, the text, and the text of a new day. */
const TIME_TICKS: (number | string | null)[][] = [
  [3600 * 24, "{MMM} {D}", null, null, null, null, null, null, 1],
  [3600, "{HH}:{mm}", "\n{MMM} {D}", null, "\n{MMM} {D}", null, null, null, 1],
  [60, "{HH}:{mm}", "\n{MMM} {D}", null, "\n{MMM} {D}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{MMM} {D}", null, "\n{MMM} {D}", null, null, null, 1],
];

function tooltip(lines: readonly Line[], format: (value: number) => string): uPlot.Plugin {
  const box = document.createElement("div");
  box.className = "chart-tooltip";
  box.hidden = true;
  return {
    hooks: {
      init: (plot) => plot.over.append(box),
      setCursor: (plot) => {
        const { idx, left = -1 } = plot.cursor;
        const seconds = idx === undefined || idx === null ? undefined : plot.data[0][idx];
        box.hidden = seconds === undefined || left < 0;
        if (seconds === undefined || idx === undefined || idx === null) return;
        const rows = lines.map(({ label }, index) => {
          const row = document.createElement("div");
          row.textContent = `${label}: ${valueText(plot.data[index + 1]?.[idx], format)}`;
          return row;
        });
        const head = document.createElement("strong");
        head.textContent = timeText(seconds * 1000, timeZone.peek());
        box.replaceChildren(head, ...rows);
        const right = left > plot.over.clientWidth / 2;
        box.style.left = right ? "auto" : `${left + 12}px`;
        box.style.right = right ? `${plot.over.clientWidth - left + 12}px` : "auto";
      },
    },
  };
}

function valueText(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? "–" : format(value);
}

function lastText(lines: readonly Line[], format: (value: number) => string): string {
  const last = lines.flatMap(({ label, values }) => {
    const value = values.findLast((each) => each !== null);
    return value === undefined || value === null ? [] : [`${label} ${format(value)}`];
  });
  return last.length === 0 ? "No data yet." : `Now: ${last.join(", ")}.`;
}
