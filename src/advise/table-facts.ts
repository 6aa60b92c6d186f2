/** What holds for a table whatever its partitions: counts, times, distinct values. Pure. */
import { DAY_MICROS } from "./limits.ts";
import { bytesOf, rowsOf } from "./sample.ts";
import type { Sample } from "./sample.ts";

export interface TableFacts {
  readonly keys: number;
  readonly rows: number;
  readonly bytes: number;
  /** Rows of the sample. */
  readonly sampledRows: number;
  /** NaN if the table has no time. */
  readonly firstMicros: number;
  readonly lastMicros: number;
  /** At least a microsecond; NaN if the table has no time. */
  readonly spanMicros: number;
  /** Distinct values of each candidate in the sample. */
  readonly distinct: readonly number[];
  /** The width of the windows in which writes are counted; NaN if the table has no time. */
  readonly windowMicros: number;
  /** Rows written in each window. */
  readonly windowRows: ReadonlyMap<number, number>;
  readonly hasDeletes: boolean;
}

const MINUTE_MICROS = 60_000_000;
const WINDOWS = [MINUTE_MICROS, 10 * MINUTE_MICROS, 60 * MINUTE_MICROS, DAY_MICROS];
const WINDOWS_MAX = 20_000;
/** With fewer sampled rows in the busiest window, its busiest partition is chance. */
const BUSIEST_ROWS_MIN = 100;

export function tableFacts(sample: Sample): TableFacts {
  const { partitions, roles } = sample;
  let [keys, rows, bytes, sampledRows] = [0, 0, 0, 0];
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let hasDeletes = false;
  const distinct = roles.candidates.map(() => new Set<number>());
  for (const partition of partitions) {
    keys += partition.weight;
    rows += partition.weight * rowsOf(partition);
    bytes += partition.weight * bytesOf(partition);
    sampledRows += partition.rows.length;
    for (const row of partition.rows) {
      first = Math.min(first, row.timeMicros);
      last = Math.max(last, row.timeMicros);
      hasDeletes ||= row.deletedMicros !== undefined;
      for (const [at, value] of row.values.entries()) distinct[at]?.add(value);
    }
  }
  const hasTime = roles.time !== undefined;
  const spanMicros = hasTime ? Math.max(1, last - first) : Number.NaN;
  const windowMicros = hasTime ? windowFor(sample, first, spanMicros) : Number.NaN;
  const facts = {
    keys,
    rows,
    bytes,
    sampledRows,
    firstMicros: hasTime ? first : Number.NaN,
    lastMicros: hasTime ? last : Number.NaN,
    spanMicros,
    distinct: distinct.map(({ size }) => size),
    windowMicros,
    hasDeletes,
  };
  const windowRows = new Map<number, number>();
  for (const { rows: each, weight } of partitions) {
    for (const row of each) {
      const window = windowOf(row.writtenMicros, facts);
      windowRows.set(window, (windowRows.get(window) ?? 0) + row.weight * weight);
    }
  }
  return { ...facts, windowRows };
}

/** The window of a time; without times all of the table is one. */
export function windowOf(
  micros: number,
  { firstMicros, windowMicros }: Pick<TableFacts, "firstMicros" | "windowMicros">,
): number {
  if (Number.isNaN(windowMicros) || Number.isNaN(micros)) return 0;
  return Math.max(0, Math.min(WINDOWS_MAX, Math.floor((micros - firstMicros) / windowMicros)));
}

/** More than the number of any window. */
export const WINDOW_END = WINDOWS_MAX + 1;

function windowFor({ partitions }: Sample, firstMicros: number, spanMicros: number): number {
  const widest = Math.max(DAY_MICROS, spanMicros / WINDOWS_MAX);
  for (const width of WINDOWS) {
    if (spanMicros / width > WINDOWS_MAX) continue;
    const counts = new Uint32Array(WINDOWS_MAX + 1);
    let most = 0;
    for (const { rows } of partitions) {
      for (const { timeMicros } of rows) {
        const at = Math.floor((timeMicros - firstMicros) / width);
        counts[at] = (counts[at] ?? 0) + 1;
        most = Math.max(most, counts[at] ?? 0);
      }
    }
    if (most >= BUSIEST_ROWS_MIN) return width;
  }
  return widest;
}
