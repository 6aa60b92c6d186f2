/**
 * Subranges of a partition: a large one is cut into equal ranges of its first clustering column, and
 * each is read from its start. So what was read is spread over all of it, and a subrange that was read
 * in part tells how many rows it has: as if they were spread evenly inside the subrange. Pure.
 */
import type { ClusteringRange, TableColumn, TableRows } from "../../ports/sampled-table.ts";
import { microsOf } from "../read-value.ts";
import type { SourceRow, Value } from "../row-source.ts";

export interface Subrange {
  /** Undefined: all of the partition. */
  readonly range: ClusteringRange | undefined;
  readonly keptMax: number;
  rows: SourceRow[];
  /** One row in this many is kept. */
  step: number;
  rowsRead: number;
  /** Where it was read to in its range. */
  seen: number;
  begun: boolean;
  /** It is not asked again. */
  failed: boolean;
  /** Where the next statement continues; undefined before the first one, and at the end. */
  next: string | undefined;
}

export function newSubrange(range: ClusteringRange | undefined, keptMax: number): Subrange {
  const seen = Number.NaN;
  const state = { begun: false, failed: false, next: undefined };
  return { range, keptMax, rows: [], step: 1, rowsRead: 0, seen, ...state };
}

export function canRead(subrange: Subrange): boolean {
  return isOpen(subrange) && !subrange.failed;
}

/** Whether it was not read to its end. */
export function isOpen({ begun, next }: Subrange): boolean {
  return !begun || next !== undefined;
}

/** Adds rows that were read. Beyond `keptMax` every second, fourth, eighth one is kept. */
export function takeRows(
  subrange: Subrange,
  { rows, next }: TableRows,
  column: TableColumn | undefined,
): void {
  for (const row of rows) {
    if (subrange.rowsRead % subrange.step === 0) subrange.rows.push(row);
    subrange.rowsRead++;
    if (subrange.rows.length <= subrange.keptMax) continue;
    subrange.rows = subrange.rows.filter((_, at) => at % 2 === 0);
    subrange.step *= 2;
  }
  const last = rows.at(-1);
  if (last !== undefined && column !== undefined)
    subrange.seen = positionOf(last[column.name], column);
  subrange.begun = true;
  subrange.next = next;
}

/** Types whose values can be told apart by a number, in the order of CQL. */
const RANGED: ReadonlySet<string> = new Set(["timestamp", "timeuuid", "bigint", "int"]);

/** The column by whose ranges a partition can be cut; undefined if there is none. */
export function rangedColumn(columns: readonly TableColumn[]): TableColumn | undefined {
  const first = columns.find(({ kind }) => kind === "clustering");
  return first !== undefined && RANGED.has(first.type) ? first : undefined;
}

/** Milliseconds of a time, or the number itself. */
export function positionOf(value: Value, { type }: TableColumn): number {
  if (value === null || value === undefined) return Number.NaN;
  if (type === "timestamp" || type === "timeuuid") return Math.floor(microsOf(value) / 1_000);
  return Number(value);
}

/** Equal ranges from one row to another, both included; none if they are too near. */
export function cutRange(a: number, b: number, subranges: number): ClusteringRange[] {
  const [from, to] = [Math.min(a, b), Math.max(a, b) + 1];
  const width = Math.ceil((to - from) / subranges);
  if (!(width >= 1) || to - from < subranges) return [];
  return Array.from({ length: Math.ceil((to - from) / width) }, (_, at) => ({
    from: from + at * width,
    to: Math.min(to, from + (at + 1) * width),
  }));
}

/** How many rows each kept row stands for; undefined if that is unknown: at least the rows read. */
export function rowsPerRow(
  subrange: Subrange,
  column: TableColumn | undefined,
): number | undefined {
  if (subrange.rows.length === 0) return 1;
  const read = subrange.rowsRead / subrange.rows.length;
  if (!isOpen(subrange)) return read;
  if (subrange.range === undefined || column === undefined) return undefined;
  const { from, to } = subrange.range;
  const covered = column.order === "ASC" ? subrange.seen - from : to - subrange.seen;
  return covered > 0 ? read * Math.max(1, (to - from) / covered) : undefined;
}

/** Estimated from a few rows, a subrange with so many unread ones is cut again instead of read on. */
const UNREAD_MANY = 200;

export function unreadRows(subrange: Subrange, column: TableColumn | undefined): number {
  return subrange.rows.length * (rowsPerRow(subrange, column) ?? subrange.step) - subrange.rowsRead;
}

/**
 * Cuts the unread rest of a subrange in two, which tells a short burst at its start from a dense subrange.
 * Undefined if little is left, or if several rows have the place where reading stopped.
 */
export function cutRest(
  subrange: Subrange,
  column: TableColumn | undefined,
): { readonly read: Subrange; readonly rest: readonly Subrange[] } | undefined {
  const { range, seen, rows } = subrange;
  if (range === undefined || column === undefined || Number.isNaN(seen)) return undefined;
  if (unreadRows(subrange, column) < UNREAD_MANY) return undefined;
  const before = rows.at(-2);
  if (before === undefined || positionOf(before[column.name], column) === seen) return undefined;
  const isAscending = column.order === "ASC";
  const { from, to } = range;
  const [first, end] = isAscending ? [seen + 1, to] : [from, seen];
  const middle = Math.floor((first + end) / 2);
  if (middle <= first) return undefined;
  const halves = [
    { from: first, to: middle },
    { from: middle, to: end },
  ];
  const kept = isAscending ? { from, to: first } : { from: end, to };
  return {
    read: { ...subrange, range: kept, next: undefined },
    // Smaller and smaller: all that is kept of a partition stays within three times its bound.
    rest: halves.map((half) => newSubrange(half, Math.ceil(subrange.keptMax / 3))),
  };
}
