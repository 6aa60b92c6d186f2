/**
 * The partitions of a slice in a grid: time buckets across, and down either their sizes or the
 * hashes of their ids. Bounded in memory, however many partitions there are. Pure.
 *
 * A column is one time bucket, or as many as it takes to have at most `COLUMNS_MAX` columns. A row
 * of sizes is half an octave: its bound is 1.41 times the one before. Rows of hashes divide the ids
 * evenly, so a row that is darker than the others shows a large id.
 */
import { utf8 } from "../lib/bytes.ts";
import { hash32 } from "../lib/hash.ts";
import type { TimePartition } from "./namespace-config.ts";

export const COLUMNS_MAX = 250;
export const SIZE_ROWS = 62;
export const HASH_ROWS = 64;

/** Another seed than that of the sample of a walk: the ids of a sample lie in all rows. */
const SEED = 0x2d;
const HASHES = 2 ** 32;
const FIRST_BYTES = 1_024;

/** The number of the cell, and what it holds; `largest` in bytes. */
export type GridCell = readonly [
  cell: number,
  partitions: number,
  bytes: number,
  events: number,
  largest: number,
];

export interface GridShape {
  readonly columns: number;
  /** Time buckets in each column; the last one may have fewer. */
  readonly bucketsPerColumn: number;
}

/** Both grids of a slice. */
export interface WidthGrids {
  readonly bySize: readonly GridCell[];
  readonly byHash: readonly GridCell[];
}

export function gridShapeOf({
  secondsPerTimeSlice,
  secondsPerTimeBucket,
}: TimePartition): GridShape {
  const buckets = Math.max(1, Math.ceil(secondsPerTimeSlice / secondsPerTimeBucket));
  const bucketsPerColumn = Math.ceil(buckets / COLUMNS_MAX);
  return { columns: Math.ceil(buckets / bucketsPerColumn), bucketsPerColumn };
}

/** A time bucket beyond the slice counts for its last column. */
export function columnOf({ columns, bucketsPerColumn }: GridShape, timeBucket: number): number {
  return Math.min(columns - 1, Math.floor(timeBucket / bucketsPerColumn));
}

/** The largest size of a row, in bytes; the last row has everything larger, too. */
export function sizeRowBound(row: number): number {
  return Math.round(FIRST_BYTES * 2 ** (row / 2));
}

export function sizeRowOf(bytes: number): number {
  if (bytes <= FIRST_BYTES) return 0;
  const row = Math.max(0, Math.floor(2 * Math.log2(bytes / FIRST_BYTES)) - 1);
  // The logarithm may be off by a rounding at a bound.
  for (let exact = row; exact < SIZE_ROWS; exact++) if (bytes <= sizeRowBound(exact)) return exact;
  return SIZE_ROWS - 1;
}

/** From 0 up to 1. */
export function idFraction(seriesId: string): number {
  return hash32(utf8(seriesId), SEED) / HASHES;
}

export function hashRowOf(seriesId: string): number {
  return Math.floor(idFraction(seriesId) * HASH_ROWS);
}

/** Numbers of a cell: partitions, bytes, events, largest. */
const VALUES = 4;

export class WidthGrid {
  readonly #values: Float64Array;

  constructor(cells: number) {
    this.#values = new Float64Array(cells * VALUES);
  }

  add(cell: number, partitions: number, bytes: number, events: number, largest: number): void {
    const values = this.#values;
    const at = cell * VALUES;
    if (at < 0 || at >= values.length) return;
    values[at] = (values[at] as number) + partitions;
    values[at + 1] = (values[at + 1] as number) + bytes;
    values[at + 2] = (values[at + 2] as number) + events;
    values[at + 3] = Math.max(values[at + 3] as number, largest);
  }

  /** Adds the cells, `scale` times each; what is largest stays as it is. */
  merge(cells: readonly GridCell[], scale = 1): void {
    for (const [cell, partitions, bytes, events, largest] of cells) {
      this.add(cell, partitions * scale, bytes * scale, events * scale, largest);
    }
  }

  /** Those that hold something, in whole numbers. */
  cells(): GridCell[] {
    const values = this.#values;
    const cells: GridCell[] = [];
    for (let at = 0; at < values.length; at += VALUES) {
      const [partitions = 0, bytes = 0, events = 0, largest = 0] = values.subarray(at, at + VALUES);
      if (partitions === 0) continue;
      const whole = Math.max(1, Math.round(partitions));
      cells.push([at / VALUES, whole, Math.round(bytes), Math.round(events), largest]);
    }
    return cells;
  }
}

/** Adds partitions to both grids of a slice. Cells are numbered row by row. */
export class WidthGridTally {
  readonly shape: GridShape;
  readonly #bySize: WidthGrid;
  readonly #byHash: WidthGrid;
  /** The partitions of an id often come together. */
  #lastId: string | undefined;
  #lastRow = 0;

  constructor(timePartition: TimePartition) {
    this.shape = gridShapeOf(timePartition);
    this.#bySize = new WidthGrid(SIZE_ROWS * this.shape.columns);
    this.#byHash = new WidthGrid(HASH_ROWS * this.shape.columns);
  }

  add(seriesId: string, timeBucket: number, bytes: number, events: number): void {
    const { columns } = this.shape;
    const column = columnOf(this.shape, timeBucket);
    if (seriesId !== this.#lastId) {
      this.#lastId = seriesId;
      this.#lastRow = hashRowOf(seriesId);
    }
    this.#bySize.add(sizeRowOf(bytes) * columns + column, 1, bytes, events, bytes);
    this.#byHash.add(this.#lastRow * columns + column, 1, bytes, events, bytes);
  }

  merge({ bySize, byHash }: WidthGrids, scale = 1): void {
    this.#bySize.merge(bySize, scale);
    this.#byHash.merge(byHash, scale);
  }

  grids(): WidthGrids {
    return { bySize: this.#bySize.cells(), byHash: this.#byHash.cells() };
  }
}
