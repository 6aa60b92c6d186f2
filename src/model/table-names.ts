/**
 * Orders the tables of slices by the time in their names, with a slice's own table and its split
 * table together.
 */

/** `wide_data_20260328_0`: the first split table of `data_20260328`. */
const SPLIT_TABLE = /^wide_(?<slice>.+)_\d+$/;

/** The slice that a table belongs to: its own name, or that of the slice whose parts it holds. */
export function sliceOfTable(table: string): string {
  return SPLIT_TABLE.exec(table)?.groups?.["slice"] ?? table;
}

export function isSplitTable(table: string): boolean {
  return SPLIT_TABLE.test(table);
}

/** Oldest first. */
export function compareTables(a: string, b: string): number {
  return compareText(sliceOfTable(a), sliceOfTable(b)) || compareText(a, b);
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
