/** The width map of the API as rows and cells of a heat map, and a selection of it as a filter. */
import type { PartitionFilter, WidthMap, WidthMapRow } from "../../../client/connect.ts";
import type { Cell, CellRange } from "../../kit/cell-range.ts";

/** The server returns at most as many. */
const ROWS_MAX = 100;
/** Each bound of a size is so many times the one before. */
const ROW_FACTOR = Math.SQRT2;

/** The rows of the map; those of sizes reach up to the limit, so that it can be drawn. */
export function rowsOf(map: WidthMap): readonly WidthMapRow[] {
  if (map.rowsBy !== "SIZE") return map.rows;
  const rows = [...map.rows];
  const limit = Math.max(Number(map.limitBytes), Number(map.densityMaxBytes));
  for (let top = rows.at(-1)?.upTo; top !== undefined && top < limit; top = rows.at(-1)?.upTo) {
    if (rows.length >= ROWS_MAX) break;
    rows.push({ from: top, upTo: top * ROW_FACTOR });
  }
  return rows;
}

/** Row by row from the bottom. */
export function valuesOf({ columnCount, cells }: WidthMap, rows: number): Float64Array {
  const values = new Float64Array(columnCount * rows);
  for (const { column, row, value } of cells) values[row * columnCount + column] = Number(value);
  return values;
}

/** The first and the last row with sizes between the two. */
export function rowsBetween(
  rows: readonly WidthMapRow[],
  min: number,
  max: number,
): { readonly from: number; readonly to: number } | undefined {
  const from = rows.findIndex(({ upTo = Infinity }) => upTo > min);
  const to = rows.findLastIndex((row) => row.from < max);
  return from < 0 || to < from ? undefined : { from, to };
}

/** The row that a size is in; undefined above the last. */
export function rowAt(rows: readonly WidthMapRow[], bytes: number): number | undefined {
  const row = rows.findIndex(({ from, upTo = Infinity }) => from < bytes && bytes <= upTo);
  return row < 0 ? undefined : row;
}

/** Which partitions ListPartitions should return for the cells of a selection. */
export function filterOf(
  { rowsBy, timeBucketsPerColumn }: WidthMap,
  rows: readonly WidthMapRow[],
  { from, to }: CellRange,
): PartitionFilter {
  const low = rows[from.row]?.from ?? 0;
  const high = rows[to.row]?.upTo;
  return {
    timeBucketMin: from.column * timeBucketsPerColumn,
    timeBucketMax: (to.column + 1) * timeBucketsPerColumn - 1,
    ...(rowsBy === "SIZE"
      ? {
          bytesMin: String(Math.floor(low) + 1),
          ...(high !== undefined && { bytesMax: String(Math.floor(high)) }),
        }
      : { hashFrom: low, ...(high !== undefined && { hashTo: high }) }),
  };
}

/** "2.0-4.1" for the address. */
export function rangeText({ from, to }: CellRange): string {
  return `${from.column}.${from.row}-${to.column}.${to.row}`;
}

/** What the address selects; undefined if it does not fit the map. */
export function rangeIn(text: string, columns: number, rows: number): CellRange | undefined {
  const found = /^(\d+)\.(\d+)-(\d+)\.(\d+)$/.exec(text);
  if (found === null) return undefined;
  const [, left = 0, bottom = 0, right = 0, top = 0] = found.map(Number);
  const from: Cell = { column: left, row: bottom };
  const to: Cell = { column: right, row: top };
  const fits = left <= right && bottom <= top && right < columns && top < rows;
  return fits ? { from, to } : undefined;
}
