/**
 * Measures a strategy on a sample: places every row, and gives the numbers that the criteria judge.
 * Pure.
 */
import { fillOf } from "./limits.ts";
import type { AdviseLimits } from "./limits.ts";
import { QueryMeter } from "./measure-queries.ts";
import type { MeasuredQuery } from "./measure-queries.ts";
import { hotRateMin, nodeShare, tombstonesOf, windowSeconds } from "./partition-load.ts";
import { findQuery } from "./query.ts";
import type { Query } from "./query.ts";
import { rowsOf } from "./sample.ts";
import type { Sample, SampledPartition, SampledRow } from "./sample.ts";
import type { Part, Strategy } from "./strategies/strategy.ts";
import { WINDOW_END, windowOf } from "./table-facts.ts";
import type { TableFacts } from "./table-facts.ts";
import { quantilesOf } from "./weighted.ts";
import type { Quantiles, Weighted } from "./weighted.ts";

export interface MeasuredSizes {
  readonly partitions: number;
  readonly rows: Quantiles;
  readonly bytes: Quantiles;
  /** Of the limit in rows or bytes, whichever is nearer: above 1 is beyond it. */
  readonly fill: Quantiles;
  readonly largestKey: string;
  /** Whether the largest partition was not read to the end. */
  readonly atLeast: boolean;
  readonly partitionsBeyond: number;
  /** The share of all rows that are in partitions beyond the limit. */
  readonly rowsBeyondShare: number;
  /** Partitions by fill: the first entry is up to 2^-20, each further one up to twice as much. */
  readonly histogram: readonly number[];
}

export interface MeasuredHotSpots {
  /** Rows a second to the busiest partition in its busiest window. */
  readonly peakPerSecond: number;
  readonly peakKey: string;
  /** One node's share of the table's busiest window. */
  readonly nodePerSecond: number;
  /** The share of all rows that were written to a partition while it was a hot spot. */
  readonly hotShare: number;
  readonly windowSeconds: number;
  /** Whether the table has times: otherwise `peakPerSecond` is a share of all rows. */
  readonly timed: boolean;
  /** Rows a second to the busiest partition of each window, in order; few enough to plot. */
  readonly series: readonly { readonly micros: number; readonly perSecond: number }[];
}

export interface Measured {
  readonly strategy: Strategy;
  readonly sizes: MeasuredSizes;
  readonly hotSpots: MeasuredHotSpots;
  /** The most tombstones of a partition at one time. */
  readonly tombstones: Quantiles;
  readonly queries: readonly MeasuredQuery[];
  /** Finding one row by its primary key. */
  readonly find: MeasuredQuery;
  /** The most values that a query would have to guess. */
  readonly unknownValues: number;
  /** The share of rows older than rows of an earlier partition; undefined: unknown. */
  readonly lateShare: number | undefined;
}

const HISTOGRAM_FIRST = -20;
const HISTOGRAM_LENGTH = 40;
const SERIES_MAX = 120;
/** A window with fewer sampled rows of a partition may be hot by chance. */
const SAMPLED_MIN = 5;

export interface MeasureContext {
  readonly sample: Sample;
  readonly facts: TableFacts;
  readonly limits: AdviseLimits;
  readonly queries: readonly Query[];
}

export function measure(strategy: Strategy, context: MeasureContext): Measured {
  const { sample, facts, limits, queries } = context;
  const { roles } = sample;
  const sizes = new SizeMeter(limits);
  const hot = new HotMeter(facts, limits);
  const tombstones: Weighted[] = [];
  const queryContext = { roles, facts, limits };
  const meters = queries.map((query) => new QueryMeter(query, strategy, queryContext));
  const find = new QueryMeter(findQuery(roles), strategy, queryContext);
  let late = 0;
  for (const partition of sample.partitions) {
    const labels = strategy.place(partition);
    const parts = partsOf(partition, labels, { facts, limits });
    const placed = strategy.correct?.(parts, partition) ?? parts;
    const partitions = placed.reduce((sum, { count }) => sum + count, 0);
    const key = { partition, rows: rowsOf(partition), parts, partitions };
    sizes.add(partition, placed);
    hot.add(partition, labels);
    for (const { tombstones: value, count } of placed) {
      tombstones.push({ value, weight: count * partition.weight });
    }
    for (const meter of meters) meter.add(key);
    find.add(key);
    late += partition.weight * (strategy.lateRows?.(partition) ?? 0);
  }
  return {
    strategy,
    sizes: sizes.result(facts),
    hotSpots: hot.result(),
    tombstones: quantilesOf(tombstones),
    queries: meters.map((meter) => meter.result()),
    find: find.result(),
    unknownValues: Math.max(0, ...queries.map((query) => strategy.unknownValues(query))),
    lateShare: roles.written === undefined ? undefined : late / facts.rows,
  };
}

function partsOf(
  { rows }: SampledPartition,
  labels: ArrayLike<number>,
  { facts, limits }: Pick<MeasureContext, "facts" | "limits">,
): Part[] {
  const groups = new Map<number, SampledRow[]>();
  for (const [at, row] of rows.entries()) {
    const label = labels[at] ?? 0;
    const group = groups.get(label);
    if (group === undefined) groups.set(label, [row]);
    else group.push(row);
  }
  const parts = [...groups].map(([label, group]) => {
    let [count, bytes, first, last] = [0, 0, Number.NaN, Number.NaN];
    for (const { weight, bytes: each, timeMicros } of group) {
      count += weight;
      bytes += weight * each;
      if (!(timeMicros >= first)) first = timeMicros;
      if (!(timeMicros <= last)) last = timeMicros;
    }
    return {
      label,
      rows: count,
      bytes,
      sampled: group.length,
      firstMicros: first,
      lastMicros: last,
      tombstones: facts.hasDeletes ? tombstonesOf(group, limits) : 0,
      count: 1,
    };
  });
  return parts.sort((a, b) => a.label - b.label);
}

class SizeMeter {
  readonly #limits: AdviseLimits;
  readonly #rows: Weighted[] = [];
  readonly #bytes: Weighted[] = [];
  readonly #fill: Weighted[] = [];
  readonly #histogram = Array.from({ length: HISTOGRAM_LENGTH }, () => 0);
  #largest = { fill: -1, key: "", atLeast: false };
  #partitionsBeyond = 0;
  #rowsBeyond = 0;

  constructor(limits: AdviseLimits) {
    this.#limits = limits;
  }

  add({ key, weight, whole }: SampledPartition, parts: readonly Part[]): void {
    for (const { rows, bytes, count } of parts) {
      const fill = fillOf(rows, bytes, this.#limits);
      const alike = weight * count;
      this.#rows.push({ value: rows, weight: alike });
      this.#bytes.push({ value: bytes, weight: alike });
      this.#fill.push({ value: fill, weight: alike });
      const place = Math.ceil(Math.log2(Math.max(fill, 2 ** HISTOGRAM_FIRST))) - HISTOGRAM_FIRST;
      const at = Math.min(HISTOGRAM_LENGTH - 1, place);
      this.#histogram[at] = (this.#histogram[at] ?? 0) + alike;
      if (fill > this.#largest.fill) this.#largest = { fill, key, atLeast: !whole };
      if (fill <= 1) continue;
      this.#partitionsBeyond += alike;
      this.#rowsBeyond += alike * rows;
    }
  }

  result(facts: TableFacts): MeasuredSizes {
    return {
      partitions: this.#rows.reduce((sum, { weight }) => sum + weight, 0),
      rows: quantilesOf(this.#rows),
      bytes: quantilesOf(this.#bytes),
      fill: quantilesOf(this.#fill),
      largestKey: this.#largest.key,
      atLeast: this.#largest.atLeast,
      partitionsBeyond: this.#partitionsBeyond,
      rowsBeyondShare: Math.min(1, this.#rowsBeyond / facts.rows),
      histogram: this.#histogram,
    };
  }
}

class HotMeter {
  readonly #facts: TableFacts;
  readonly #hotFrom: number;
  readonly #nodePerSecond: number;
  readonly #seconds: number;
  /** Rows to the busiest partition of each window. */
  readonly #busiest = new Map<number, number>();
  #peak = { rows: 0, key: "" };
  #hotRows = 0;

  constructor(facts: TableFacts, limits: AdviseLimits) {
    this.#facts = facts;
    this.#seconds = windowSeconds(facts);
    this.#nodePerSecond = nodeShare(facts, limits);
    this.#hotFrom = Math.max(hotRateMin(facts, limits), this.#nodePerSecond) * this.#seconds;
  }

  add({ key, rows, weight }: SampledPartition, labels: ArrayLike<number>): void {
    const cells = new Map<number, { rows: number; sampled: number }>();
    for (const [at, row] of rows.entries()) {
      // The smallest label is -1.
      const cell = ((labels[at] ?? 0) + 1) * WINDOW_END + windowOf(row.writtenMicros, this.#facts);
      const found = cells.get(cell);
      if (found === undefined) cells.set(cell, { rows: row.weight, sampled: 1 });
      else {
        found.rows += row.weight;
        found.sampled++;
      }
    }
    for (const [cell, { rows: count, sampled }] of cells) {
      const window = cell % WINDOW_END;
      if (sampled < SAMPLED_MIN && count > this.#hotFrom) continue;
      if (count > (this.#busiest.get(window) ?? 0)) this.#busiest.set(window, count);
      if (count > this.#peak.rows) this.#peak = { rows: count, key };
      if (count > this.#hotFrom) this.#hotRows += count * weight;
    }
  }

  result(): MeasuredHotSpots {
    const { firstMicros, windowMicros, rows } = this.#facts;
    const timed = !Number.isNaN(windowMicros);
    return {
      peakPerSecond: this.#peak.rows / this.#seconds,
      peakKey: this.#peak.key,
      nodePerSecond: this.#nodePerSecond,
      hotShare: Math.min(1, this.#hotRows / rows),
      windowSeconds: this.#seconds,
      timed,
      series: timed ? this.#series(firstMicros, windowMicros) : [],
    };
  }

  /** Several windows become one by their busiest. */
  #series(firstMicros: number, windowMicros: number): MeasuredHotSpots["series"] {
    const last = [...this.#busiest.keys()].reduce((a, b) => Math.max(a, b), 0);
    const step = Math.ceil((last + 1) / SERIES_MAX);
    const most = new Map<number, number>();
    for (const [window, rows] of this.#busiest) {
      const at = Math.floor(window / step);
      most.set(at, Math.max(most.get(at) ?? 0, rows));
    }
    return Array.from({ length: Math.ceil((last + 1) / step) }, (_, at) => ({
      micros: firstMicros + at * step * windowMicros,
      perSecond: (most.get(at) ?? 0) / this.#seconds,
    }));
  }
}
