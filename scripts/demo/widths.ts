/** The ids of the demo by how wide they are, and how long their reads take. */
import { pagesAlone, streamRange } from "../../bench/support/read-load.ts";
import type { Side } from "../../bench/support/read-load.ts";
import { median } from "../../bench/support/stats.ts";
import type { WideSpace } from "../../bench/support/wide-space.ts";
import { table, Untold } from "./tell.ts";
import type { DemoSetup } from "./setup.ts";

export const EVENT_BYTES = 250;

export interface Width {
  readonly side: Side;
  readonly megabytes: number;
  readonly events: number;
}

export interface WidthFigures {
  readonly p50: number;
  readonly p99: number;
  /** MB/s. */
  readonly whole: number;
}

const PAGES = 200;
const WHOLE_READS = 3;

export function widthsOf({ namespace, start, end }: WideSpace): Width[] {
  return [0.1, 1, 10, 60].map((megabytes) => {
    const series = `profile:${megabytes}mb`;
    const events = Math.round((megabytes * 1e6) / EVENT_BYTES);
    return { side: { name: series, namespace, series, start, end }, megabytes, events };
  });
}

/** Pages of 100 from anywhere and the whole range, newest first, of every width by turns. */
export async function measureWidths(
  { grpc }: DemoSetup,
  widths: readonly Width[],
): Promise<Map<Width, WidthFigures>> {
  const sides = widths.map(({ side }) => side);
  const pages = await pagesAlone(grpc, sides, "NEWEST_FIRST", {
    rounds: 1,
    pages: PAGES,
    warmUp: 1,
  });
  const measured = new Map<Width, WidthFigures>();
  for (const width of widths) {
    const { p50, p99, failed } = pages.get(width.side) ?? { p50: [], p99: [], failed: PAGES };
    if (failed > 0) throw new Untold(`${failed} pages of ${width.side.series} failed`);
    const rates: number[] = [];
    // The first one warms up and does not count.
    for (let nth = -1; nth < WHOLE_READS; nth++) {
      const { megabytes, took } = await streamRange(grpc, width.side, "NEWEST_FIRST");
      if (megabytes < 0.95 * width.megabytes) {
        throw new Untold(
          `a read of all of ${width.side.series} brought ${megabytes.toFixed(1)} of ${width.megabytes} MB`,
        );
      }
      if (nth >= 0) rates.push(megabytes / took);
    }
    measured.set(width, { p50: median(p50), p99: median(p99), whole: median(rates) });
  }
  return measured;
}

export function showWidths(
  widths: readonly Width[],
  before: ReadonlyMap<Width, WidthFigures>,
  after?: ReadonlyMap<Width, WidthFigures>,
): void {
  const cell = (width: Width, of: keyof WidthFigures, digits: number): string =>
    [before, ...(after === undefined ? [] : [after])]
      .map((figures) => figures.get(width)?.[of].toFixed(digits))
      .join(" -> ");
  const gain = (width: Width): string =>
    `${((after?.get(width)?.whole ?? 0) / (before.get(width)?.whole ?? 1)).toFixed(1)} times`;
  table([
    [
      "width",
      "page of 100, p50 ms",
      "p99 ms",
      "whole range, MB/s",
      ...(after === undefined ? [] : ["gain"]),
    ],
    ...widths.map((width) => [
      `${width.megabytes} MB`,
      cell(width, "p50", 2),
      cell(width, "p99", 1),
      cell(width, "whole", 0),
      ...(after === undefined ? [] : [gain(width)]),
    ]),
  ]);
}
