/**
 * The plots of the page, as SVG without text: labels are HTML, so they keep their size on a phone.
 * Pure.
 */
import type { Advice } from "../advise.ts";
import { isoOf } from "../advice-json.ts";
import { percent, short, shortQuantity } from "../number-text.ts";
import type { Judged } from "../recommend.ts";
import { escapeHtml } from "./escape.ts";

/** The histogram of sizes: powers of two of the limit. */
const FILL_FIRST = -20;
const FILL_LAST = 12;

/** Sizes of partitions for each strategy; the limit is a line. */
export function sizesPlot({ judged, recommended }: Advice): string {
  const place = (power: number): number => (100 * (power - FILL_FIRST)) / (FILL_LAST - FILL_FIRST);
  const rows = judged.map((each) => {
    const { histogram, fill } = each.measured.sizes;
    const most = Math.max(...histogram.map(logOf));
    const bars = histogram.map((count, at) => {
      if (count <= 0) return "";
      const left = place(Math.min(FILL_LAST - 1, FILL_FIRST + at - 1));
      const height = 4 + (16 * logOf(count)) / most;
      const colour = at + FILL_FIRST > 0 ? "var(--limit)" : barColour(each, recommended);
      return rect(Math.max(0, left), 20 - height, place(FILL_FIRST + 1) * 0.92, height, colour);
    });
    const limit = line(place(0), 0, place(0), 20, "var(--limit)");
    const value =
      fill.max > 1
        ? `largest ${short(fill.max)} times the limit`
        : `largest ${percent(fill.max)} of it`;
    return plotRow(each, recommended, svg(20, bars.join("") + limit), value);
  });
  const ticks = ticksOf([
    [place(-16), "1/65,536"],
    [place(-10), "1/1,000"],
    [place(-5), ""],
    [place(0), "the limit"],
    [place(10), "1,000 x"],
  ]);
  return rows.join("") + plotRow(undefined, recommended, ticks, "");
}

/** Rows a second to the busiest partition over time: as it is, recommended, and the runners-up. */
export function hotSpotsPlot({ judged, recommended, runnersUp, limits }: Advice): string {
  const shown = [...new Set([judged[0], recommended, ...runnersUp.slice(0, 3)])].filter(
    (each) => each !== undefined,
  );
  const [first] = shown;
  if (first === undefined || !first.measured.hotSpots.timed) {
    return '<p class="soft">The table has no time column.</p>';
  }
  const { nodePerSecond } = first.measured.hotSpots;
  const hotFrom = Math.max(nodePerSecond, limits.hotRowsPerSecondMin);
  const most = Math.max(hotFrom, ...shown.map(({ measured }) => measured.hotSpots.peakPerSecond));
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
    const limit = line(0, y(hotFrom), 100, y(hotFrom), "var(--limit)");
    const value = `at most ${short(peakPerSecond)} rows/s to one partition`;
    return plotRow(each, recommended, svg(40, bars.join("") + limit), value);
  });
  const { series } = first.measured.hotSpots;
  const ticks =
    `<div class="ticks"><span class="first" style="left:0">${dayOf(series[0]?.micros)}</span>` +
    `<span class="last" style="left:100%">${dayOf(series.at(-1)?.micros)}</span></div>`;
  return (
    `<p class="soft">The line is a hot spot: ${short(hotFrom)} rows/s.</p>` +
    rows.join("") +
    plotRow(undefined, recommended, ticks, "")
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
      const p99 = line(
        width(asked.partitionsP99),
        0,
        width(asked.partitionsP99),
        12,
        "var(--soft)",
      );
      const value = `${shortQuantity(asked.partitions, "partition")}, 99 % at most ${short(asked.partitionsP99)}`;
      return plotRow(each, recommended, svg(12, bar + p99), value);
    });
    // At most five labels fit a phone.
    const every = Math.ceil(decades / 4);
    const powers = Array.from({ length: Math.floor(decades / every) + 1 }, (_, at) => at * every);
    const ticks = ticksOf(
      powers.map((power) => [(100 * power) / decades, short(10 ** power)] as const),
    );
    return `<h3 class="soft">${escapeHtml(query.name)}</h3>${rows.join("")}${plotRow(undefined, recommended, ticks, "")}`;
  });
  return blocks.join("");
}

function plotRow(each: Judged | undefined, best: Judged, plot: string, value: string): string {
  const name = each === undefined ? "" : escapeHtml(each.measured.strategy.name);
  const style = each === best ? "name best" : "name";
  const shown = value === "" ? "" : `<div class="value">${escapeHtml(value)}</div>`;
  return `<div class="row"><div class="${style}">${name}</div><div class="plot">${plot}${shown}</div></div>`;
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

function rect(x: number, y: number, width: number, height: number, fill: string): string {
  return `<rect x="${num(x)}" y="${num(y)}" width="${num(width)}" height="${num(height)}" fill="${fill}"/>`;
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
