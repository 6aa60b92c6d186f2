/**
 * The plots of the page, as SVG without text: labels are HTML, so they keep their size on a phone.
 * Pure.
 */
import type { Advice } from "../advise.ts";
import { isoOf } from "../advice-json.ts";
import { formatDurationMs } from "../../lib/units.ts";
import { bytesText, compact, rowsText, short, shortQuantity } from "../number-text.ts";
import type { Judged } from "../recommend.ts";
import { escapeHtml } from "./escape.ts";

/** The histogram of sizes: powers of two of the limit. */
const FILL_FIRST = -20;
const FILL_LAST = 12;
/** What the axis names, in proportion to the limit. */
const FILL_TICKS = [1e-4, 1e-2, 1, 1e2];

/** Sizes of partitions for each strategy; the limit is a line. */
export function sizesPlot({ judged, recommended, limits }: Advice): string {
  const place = (power: number): number => (100 * (power - FILL_FIRST)) / (FILL_LAST - FILL_FIRST);
  const sizeAt = (fill: number): readonly [string, string] => [
    `${compact(limits.rowsMax * fill)} rows`,
    bytesText(limits.bytesMax * fill),
  ];
  const grid = FILL_TICKS.map((fill) => {
    const at = place(Math.log2(fill));
    return fill === 1
      ? line(at, 0, at, SIZES_HEIGHT, "var(--limit)")
      : line(at, 0, at, SIZES_HEIGHT, "var(--line)");
  });
  const rows = judged.map((each) => {
    const { histogram, fill, rows: count, bytes } = each.measured.sizes;
    const most = Math.max(...histogram.map(logOf));
    const bars = histogram.map((partitions, at) => {
      if (partitions <= 0) return "";
      const power = at + FILL_FIRST;
      const left = place(Math.min(FILL_LAST - 1, power - 1));
      const height = 4 + ((SIZES_HEIGHT - 8) * logOf(partitions)) / most;
      const colour = power > 0 ? "var(--limit)" : barColour(each, recommended);
      const width = place(FILL_FIRST + 1) * 0.92;
      const [mostRows, mostBytes] = sizeAt(2 ** power);
      const title = `${shortQuantity(partitions, "partition")} of up to ${mostRows} or ${mostBytes}`;
      return rect(Math.max(0, left), SIZES_HEIGHT - height, width, height, colour, title);
    });
    const value = `${rowsText(count.max, limits.rowsMax)}, ${bytesText(bytes.max)}`;
    const shown = fill.max > 1 ? `<span class="beyond">${escapeHtml(value)}</span>` : value;
    return plotRow(each, recommended, svg(SIZES_HEIGHT, grid.join("") + bars.join("")), shown);
  });
  const ticks = ticksOf(
    FILL_TICKS.map((fill) => [place(Math.log2(fill)), sizeAt(fill).join("\n")] as const),
  );
  return `<div class="plots joined">${rows.join("")}${plotRow(undefined, recommended, ticks, "")}</div>`;
}

const SIZES_HEIGHT = 26;

/** The line of a hot spot is left out if it is so much higher than all bars. */
const FLAT_TIMES = 20;

/** Rows a second to the busiest partition over time: as it is, recommended, and the runners-up. */
export function hotSpotsPlot({ judged, recommended, runnersUp, limits }: Advice): string {
  const shown = [...new Set([judged[0], recommended, ...runnersUp.slice(0, 3)])].filter(
    (each) => each !== undefined,
  );
  const [first] = shown;
  if (first === undefined || !first.measured.hotSpots.timed) {
    return '<p class="soft">The table has no time column.</p>';
  }
  const { nodePerSecond, windowSeconds } = first.measured.hotSpots;
  const hotFrom = Math.max(nodePerSecond, limits.hotRowsPerSecondMin);
  const peak = Math.max(...shown.map(({ measured }) => measured.hotSpots.peakPerSecond));
  // A line far above would press the bars flat.
  const hasLine = peak * FLAT_TIMES >= hotFrom;
  const most = hasLine ? Math.max(hotFrom, peak) : peak;
  const y = (rate: number): number => 40 - (40 * rate) / most;
  const rows = shown.map((each) => {
    const { series, peakPerSecond } = each.measured.hotSpots;
    const step = 100 / Math.max(1, series.length);
    const bars = series.map(({ perSecond }, at) =>
      perSecond <= 0
        ? ""
        : rect(
            at * step,
            y(perSecond),
            step,
            40 - y(perSecond),
            perSecond > hotFrom ? "var(--limit)" : barColour(each, recommended),
          ),
    );
    const limit = hasLine ? line(0, y(hotFrom), 100, y(hotFrom), "var(--limit)") : "";
    const value = `at most ${short(peakPerSecond)} rows/s`;
    return plotRow(each, recommended, svg(40, bars.join("") + limit), value);
  });
  const { series } = first.measured.hotSpots;
  const ticks =
    `<div class="ticks"><span class="first" style="left:0">${dayOf(series[0]?.micros)}</span>` +
    `<span class="last" style="left:100%">${dayOf(series.at(-1)?.micros)}</span></div>`;
  const window = formatDurationMs(windowSeconds * 1_000);
  return (
    `<p class="soft">Rows a second to the busiest partition, in windows of ${window}; the height of a plot is ` +
    `${short(most)} rows/s. ${
      hasLine
        ? `Above the line, ${short(hotFrom)} rows/s, the partition is a hot spot.`
        : `A hot spot begins at ${short(hotFrom)} rows/s.`
    }</p>` +
    `<div class="plots">${rows.join("")}${plotRow(undefined, recommended, ticks, "")}</div>`
  );
}

/** Partitions that a query asks, for each query and strategy, in powers of ten. */
export function queriesPlot({ judged, recommended, queries }: Advice): string {
  const all = judged.flatMap(({ measured }) =>
    measured.queries.map((each) => Math.max(each.partitions, each.partitionsP99)),
  );
  const decades = Math.max(1, Math.ceil(Math.log10(Math.max(10, ...all))));
  const width = (partitions: number): number =>
    Math.max(0.5, (100 * Math.log10(Math.max(1, partitions))) / decades);
  const blocks = queries.map((query, nth) => {
    const rows = judged.map((each) => {
      const asked = each.measured.queries[nth];
      if (asked?.served !== true) {
        return plotRow(each, recommended, "", "scans the table");
      }
      const bar = rect(0, 2, width(asked.partitions), 8, barColour(each, recommended));
      const isWide = asked.partitionsP99 > asked.partitions;
      const p99At = width(asked.partitionsP99);
      const p99 = isWide ? line(p99At, 0, p99At, 12, "var(--soft)") : "";
      const value =
        shortQuantity(asked.partitions, "partition") +
        (isWide ? `, 99 % up to ${short(asked.partitionsP99)}` : "");
      return plotRow(each, recommended, svg(12, bar + p99), value);
    });
    // At most five labels fit a phone.
    const every = Math.ceil(decades / 4);
    const powers = Array.from({ length: Math.floor(decades / every) + 1 }, (_, at) => at * every);
    const ticks = ticksOf(
      powers.map((power) => [(100 * power) / decades, compact(10 ** power)] as const),
    );
    return `<h3 class="soft">${escapeHtml(query.name)}</h3><div class="plots">${rows.join("")}${plotRow(undefined, recommended, ticks, "")}</div>`;
  });
  return blocks.join("");
}

/** `value` is HTML. */
function plotRow(each: Judged | undefined, best: Judged, plot: string, value: string): string {
  const name = each === undefined ? "" : escapeHtml(each.measured.strategy.name);
  const style = each === best ? "name best" : "name";
  return (
    `<div class="row"><div class="${style}">${name}</div><div class="plot">${plot}</div>` +
    `<div class="value">${value}</div></div>`
  );
}

function barColour(each: Judged, best: Judged): string {
  return each === best ? "var(--best)" : "var(--bar)";
}

function svg(height: number, content: string): string {
  return (
    `<svg viewBox="0 0 100 ${height}" height="${height}" preserveAspectRatio="none" ` +
    `role="img" aria-hidden="true">${content}</svg>`
  );
}

function rect(
  x: number,
  y: number,
  width: number,
  height: number,
  fill: string,
  title = "",
): string {
  const shape = `<rect x="${num(x)}" y="${num(y)}" width="${num(width)}" height="${num(height)}" fill="${fill}"`;
  return title === "" ? `${shape}/>` : `${shape}><title>${escapeHtml(title)}</title></rect>`;
}

function line(x1: number, y1: number, x2: number, y2: number, stroke: string): string {
  return (
    `<line x1="${num(x1)}" y1="${num(y1)}" x2="${num(x2)}" y2="${num(y2)}" stroke="${stroke}" ` +
    'stroke-width="1.5" stroke-dasharray="4 2" vector-effect="non-scaling-stroke"/>'
  );
}

function ticksOf(ticks: readonly (readonly [number, string])[]): string {
  const spans = ticks.map(([at, text]) => {
    const edge = at <= 2 ? ' class="first"' : at >= 98 ? ' class="last"' : "";
    return `<span${edge} style="left:${num(at)}%">${escapeHtml(text)}</span>`;
  });
  return `<div class="ticks">${spans.join("")}</div>`;
}

function logOf(count: number): number {
  return Math.log2(1 + count);
}

function dayOf(micros: number | undefined): string {
  return micros === undefined || Number.isNaN(micros) ? "" : isoOf(micros).slice(0, 10);
}

function num(value: number): string {
  return String(Number(value.toFixed(2)));
}
