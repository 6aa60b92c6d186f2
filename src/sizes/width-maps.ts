/**
 * The width map of a slice: the grid that its last walk stored, with the splits of today marked, and
 * a sentence that says what is wrong.
 */
import type { Clock } from "../lib/clock.ts";
import type { SliceRef } from "../model/partition.ts";
import type { SplitRecord, SplitState } from "../model/split.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import { exclusionsOf } from "../model/slice-histogram.ts";
import {
  columnOf,
  HASH_ROWS,
  hashRowOf,
  SIZE_ROWS,
  sizeRowBound,
  sizeRowOf,
} from "../model/width-grid.ts";
import type { GridCell, GridShape } from "../model/width-grid.ts";
import type { WidthMap } from "../model/width-map.ts";
import type { Catalog } from "../ports/catalog.ts";
import { readReadyNamespace } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import type { UnreadableEntry } from "../records/stored-json.ts";
import { readWidthMap } from "../records/width-map-records.ts";
import { requireSlice } from "./require-slice.ts";
import { partitionName, readSizedPartitions, SPLITS_MAX } from "./sized-partitions.ts";
import type { SizedPartitions } from "./sized-partitions.ts";
import { TOP_PARTITIONS_MAX } from "./walk-tally.ts";
import { targetSharesOf, widthSentence } from "./width-sentence.ts";
import type { OverLimit, TargetBytes, TargetShares } from "./width-sentence.ts";

export interface WidthMapsOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly unreadable: (entry: UnreadableEntry) => void;
}

export type MapRows = "SIZE" | "ID_HASH";
export type MapMeasure = "PARTITIONS" | "BYTES" | "EVENTS";

export interface WidthMapQuery {
  /** An empty name means the slice that takes events now. */
  readonly timeSlice: string;
  readonly rows: MapRows;
  readonly measure: MapMeasure;
  /** At least 1. */
  readonly columnsMax: number;
}

/** The bounds of a row: bytes, or the fractions of hashes. `from` is excluded for bytes. */
export interface MapRow {
  readonly from: number;
  /** Infinity: everything larger. */
  readonly upTo: number;
}

export interface MapCell {
  readonly column: number;
  readonly row: number;
  /** In the unit of the query. */
  readonly value: number;
  readonly partitions: number;
  /** The largest partition, in bytes. */
  readonly largestBytes: number;
  readonly splits: ReadonlyMap<SplitState, number>;
}

export interface ShownWidthMap {
  readonly slice: TimeSlice;
  /** Undefined before the first walk. */
  readonly walk: WidthMap | undefined;
  readonly shape: GridShape;
  readonly rows: readonly MapRow[];
  /** Those that hold something, row by row. */
  readonly cells: readonly MapCell[];
  readonly target: TargetBytes;
  readonly shares: TargetShares;
  readonly over: OverLimit;
  readonly excludes: readonly string[];
  readonly sentence: string;
}

const NO_SHARES: TargetShares = { below: 0, above: 0 };
const NOT_OVER: OverLimit = { count: 0, more: false, split: 0, ids: [] };

export class WidthMaps {
  readonly #options: WidthMapsOptions;

  constructor(options: WidthMapsOptions) {
    this.#options = options;
  }

  /** Rejects with TIME_SLICE_NOT_FOUND if there is no such slice, or no longer. */
  async get(namespace: string, query: WidthMapQuery): Promise<ShownWidthMap> {
    const { catalog, clock, unreadable } = this.#options;
    const record = await readReadyNamespace(catalog, namespace);
    const slices = await readSlices(catalog, record.id);
    const slice = requireSlice(slices, namespace, query.timeSlice, clock.nowMicros());
    const ref = { namespaceId: record.id, slice: slice.name };
    const walk = await readWidthMap(catalog, ref);
    const { widePartition, tuning } = record.config;
    const target: TargetBytes = {
      minBytes: tuning.densityMinBytes,
      maxBytes: tuning.densityMaxBytes,
      limitBytes: widePartition.bytesMax,
    };
    if (walk === undefined) return notWalked(slice, target);
    const sized = await readSizedPartitions(catalog, ref, unreadable);
    const over = overLimit(ref, sized, target.limitBytes);
    const shape = fewerColumns(walk.shape, query.columnsMax);
    const bounds = query.rows === "SIZE" ? sizeRows(walk, sized, target) : hashRows();
    const excludes = exclusionsOf(walk);
    if (sized.splits.size >= SPLITS_MAX) {
      excludes.push(`the marks of more than ${SPLITS_MAX} splits`);
    }
    return {
      slice,
      walk,
      shape,
      rows: bounds.rows,
      cells: cellsOf({ walk, shape, bounds, sized }, query),
      target,
      shares: targetSharesOf(walk.sizes, target),
      over,
      excludes,
      sentence: widthSentence(walk, over, target),
    };
  }
}

function notWalked(slice: TimeSlice, target: TargetBytes): ShownWidthMap {
  return {
    slice,
    walk: undefined,
    shape: { columns: 0, bucketsPerColumn: 1 },
    rows: [],
    cells: [],
    target,
    shares: NO_SHARES,
    over: NOT_OVER,
    excludes: [],
    sentence:
      `${slice.name} has no width map yet. A server or worker walks each slice when it is settled, ` +
      "and the slices that take events every walk.current_every (an hour): wait for it, or set " +
      "walk.current_every lower.",
  };
}

/** The largest ids above the limit, by the names that are known. */
function overLimit(ref: SliceRef, sized: SizedPartitions, limitBytes: number): OverLimit {
  const over = [...sized.partitions.values()]
    .filter(({ bytes }) => bytes > limitBytes)
    .toSorted((a, b) => b.bytes - a.bytes);
  const isSplit = (split: SplitRecord | undefined): boolean => split?.state === "COMPLETED";
  return {
    count: over.length,
    // The walk stores so many: there may be others behind them.
    more: over.length >= TOP_PARTITIONS_MAX,
    split: over.filter((each) => isSplit(sized.splits.get(partitionName(ref, each)))).length,
    ids: [...new Set(over.map(({ seriesId }) => seriesId))],
  };
}

/** Whole columns together, until there are few enough. */
function fewerColumns({ columns, bucketsPerColumn }: GridShape, columnsMax: number): GridShape {
  const together = Math.ceil(columns / columnsMax);
  return {
    columns: Math.ceil(columns / together),
    bucketsPerColumn: bucketsPerColumn * together,
  };
}

interface Rows {
  /** The number of the first row that is shown. */
  readonly first: number;
  readonly rows: readonly MapRow[];
}

/** From the smallest partition or the target to the largest partition or the limit. */
function sizeRows(
  { sizes }: WidthMap,
  { partitions }: SizedPartitions,
  { minBytes, maxBytes, limitBytes }: TargetBytes,
): Rows {
  let largest = Math.max(sizes.max, maxBytes, limitBytes);
  // A read may have found one that has grown since the walk.
  for (const { bytes } of partitions.values()) largest = Math.max(largest, bytes);
  const first = sizeRowOf(Math.min(sizes.count === 0 ? minBytes : sizes.min, minBytes));
  const last = sizeRowOf(largest);
  const rows = Array.from({ length: last - first + 1 }, (_, nth) => {
    const row = first + nth;
    const from = row === 0 ? 0 : sizeRowBound(row - 1);
    return { from, upTo: row === SIZE_ROWS - 1 ? Infinity : sizeRowBound(row) };
  });
  return { first, rows };
}

function hashRows(): Rows {
  const rows = Array.from({ length: HASH_ROWS }, (_, row) => {
    return { from: row / HASH_ROWS, upTo: (row + 1) / HASH_ROWS };
  });
  return { first: 0, rows };
}

interface CellSource {
  readonly walk: WidthMap;
  readonly shape: GridShape;
  readonly bounds: Rows;
  readonly sized: SizedPartitions;
}

interface OpenCell {
  value: number;
  partitions: number;
  largestBytes: number;
  readonly splits: Map<SplitState, number>;
}

function cellsOf(source: CellSource, { rows, measure }: WidthMapQuery): MapCell[] {
  const { walk, shape, bounds, sized } = source;
  const open = new Map<number, OpenCell>();
  const lastRow = bounds.rows.length - 1;
  const at = (row: number, column: number): OpenCell => {
    // A split whose size is not known yet lies in the lowest row.
    const shown = Math.min(lastRow, Math.max(0, row - bounds.first));
    const key = shown * shape.columns + column;
    const cell = open.get(key) ?? newCell();
    open.set(key, cell);
    return cell;
  };
  const together = shape.bucketsPerColumn / walk.shape.bucketsPerColumn;
  for (const stored of rows === "SIZE" ? walk.grids.bySize : walk.grids.byHash) {
    const [cell, partitions, , , largest] = stored;
    const row = Math.floor(cell / walk.shape.columns);
    const column = Math.floor((cell % walk.shape.columns) / together);
    const into = at(row, column);
    into.value += valueOf(stored, measure);
    into.partitions += partitions;
    into.largestBytes = Math.max(into.largestBytes, largest);
  }
  for (const [name, { partition, state }] of sized.splits) {
    const bytes = sized.partitions.get(name)?.bytes ?? 0;
    const row = rows === "SIZE" ? sizeRowOf(bytes) : hashRowOf(partition.seriesId);
    const { splits } = at(row, columnOf(shape, partition.timeBucket));
    splits.set(state, (splits.get(state) ?? 0) + 1);
  }
  return [...open]
    .toSorted(([a], [b]) => a - b)
    .map(([key, cell]) => ({
      ...cell,
      column: key % shape.columns,
      row: Math.floor(key / shape.columns),
    }));
}

function newCell(): OpenCell {
  return { value: 0, partitions: 0, largestBytes: 0, splits: new Map() };
}

function valueOf([, partitions, bytes, events]: GridCell, measure: MapMeasure): number {
  if (measure === "PARTITIONS") return partitions;
  return measure === "BYTES" ? bytes : events;
}
