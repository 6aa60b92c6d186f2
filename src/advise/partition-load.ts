/** What the rows of one partition put on it: tombstones at one time, writes in one window. Pure. */
import type { AdviseLimits } from "./limits.ts";
import type { SampledRow } from "./sample.ts";
import { windowOf } from "./table-facts.ts";
import type { TableFacts } from "./table-facts.ts";

/** The most tombstones that exist at one time: those of one `gc_grace_seconds`. */
export function tombstonesOf(
  rows: readonly SampledRow[],
  { gcGraceMicros }: Pick<AdviseLimits, "gcGraceMicros">,
): number {
  const deletes: { at: number; count: number }[] = [];
  let sorted = true;
  for (const { deletedMicros, deletedShare, weight } of rows) {
    if (deletedMicros === undefined) continue;
    sorted &&= deletedMicros >= (deletes.at(-1)?.at ?? -Infinity);
    deletes.push({ at: deletedMicros, count: weight * deletedShare });
  }
  if (!sorted) deletes.sort((a, b) => a.at - b.at);
  let [most, now, oldest] = [0, 0, 0];
  for (const { at, count } of deletes) {
    now += count;
    for (let first = deletes[oldest]; first !== undefined && first.at <= at - gcGraceMicros;) {
      now -= first.count;
      first = deletes[++oldest];
    }
    most = Math.max(most, now);
  }
  return most;
}

export interface BusiestWindow {
  /** Rows written to the partition in its busiest window. */
  readonly perSecond: number;
  /** One node's share of the busiest window of the whole table. */
  readonly nodePerSecond: number;
}

export function busiestWindow(
  rows: readonly SampledRow[],
  facts: TableFacts,
  limits: AdviseLimits,
): BusiestWindow {
  const windows = new Map<number, number>();
  for (const { writtenMicros, weight } of rows) {
    const window = windowOf(writtenMicros, facts);
    windows.set(window, (windows.get(window) ?? 0) + weight);
  }
  let most = 0;
  for (const count of windows.values()) most = Math.max(most, count);
  return { perSecond: most / windowSeconds(facts), nodePerSecond: nodeShare(facts, limits) };
}

/** One node's share of the busiest window, in rows a second. */
export function nodeShare(facts: TableFacts, { nodes }: AdviseLimits): number {
  let most = 0;
  for (const count of facts.windowRows.values()) most = Math.max(most, count);
  return most / windowSeconds(facts) / nodes;
}

/** Fewer rows a second to one partition are never a hot spot; without times, fewer than fill it. */
export function hotRateMin({ windowMicros }: TableFacts, limits: AdviseLimits): number {
  return Number.isNaN(windowMicros) ? limits.rowsMax : limits.hotRowsPerSecondMin;
}

/** Without times the table is one window, of a second: only shares then mean anything. */
export function windowSeconds({ windowMicros }: TableFacts): number {
  return Number.isNaN(windowMicros) ? 1 : windowMicros / 1e6;
}
