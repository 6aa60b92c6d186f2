/**
 * Draws a sample of bounded size from rows of any number, in any order.
 *
 * Rows that all fit are all of the sample. Otherwise the source is read twice. The first pass counts
 * rows per key in a sketch. The second pass takes a share of the keys with few rows, whole, and the
 * same share of the rows of each key with many: so sizes of small partitions are exact, and no large
 * partition is missed. A hash of the key or of the row decides, hence the same rows are taken
 * whatever their order.
 */
import { quantity } from "../lib/quantity.ts";
import { CountSketch } from "./count-sketch.ts";
import { exactWeight, hashOf, readRow } from "./read-row.ts";
import type { ReadRow } from "./read-row.ts";
import { textOf } from "./read-value.ts";
import type { ColumnRoles } from "./roles.ts";
import type { PartitionSource, RowBatch, RowSource, SourceRow } from "./row-source.ts";
import type { Sample, SampledPartition, SampledRow } from "./sample.ts";

/** About 250 bytes each in memory. */
const SAMPLE_ROWS_MAX = 250_000;
/** A key with more rows than this share of the sample is sampled by its rows. */
const MANY_SHARE = 100;
const KEY_SEED = 11;
const OTHER_KEY_SEED = 12;
const DRAW_SEED = 13;
const HASHES = 2 ** 32;

/** Why a sample cannot be drawn: the message says what to do. */
export class SampleError extends Error {}

export interface DrawOptions {
  readonly roles: ColumnRoles;
  /** Rows in memory, about. */
  readonly rowsMax?: number | undefined;
  /** Called for each batch, with the pass: 1 or 2. */
  readonly progress?: (batch: RowBatch, rows: number, pass: number) => void;
}

export async function drawSample(
  source: RowSource,
  options: DrawOptions,
  signal: AbortSignal,
): Promise<Sample> {
  const { roles, rowsMax = SAMPLE_ROWS_MAX, progress } = options;
  const keys = new CountSketch();
  let all: ReadRow[] | undefined = [];
  let [rows, unreadable] = [0, 0];
  for await (const batch of source.batches(signal)) {
    for (const each of batch.rows) {
      const read = readRow(each, roles);
      if (read === undefined) {
        unreadable++;
        continue;
      }
      rows++;
      keys.add(hashOf(read.key, KEY_SEED), hashOf(read.key, OTHER_KEY_SEED));
      if (rows > rowsMax) all = undefined;
      all?.push(read);
    }
    progress?.(batch, rows + unreadable, 1);
  }
  if (rows === 0) throw new SampleError(nothingRead(source, roles, unreadable));
  const notes = unreadable === 0 ? [] : [leftOut(roles, unreadable)];
  if (all !== undefined) {
    return {
      source: source.name,
      roles,
      partitions: partitionsOf(all, () => 1),
      rowsRead: rows,
      notes,
    };
  }
  if (!source.repeatable) {
    throw new SampleError(
      `${source.name} has more than ${quantity(rowsMax, "row")}: save it to a file, which can be ` +
        "read twice, or give a larger --sample-rows",
    );
  }
  const second = await secondPass(source, options, { keys, rows }, signal);
  notes.push(
    `sampled: ${quantity(second.rows, "row")} of ${quantity(rows, "row")}, whole partitions of ` +
      `the small ones and 1 row in ${(1 / second.share).toFixed(1)} of the large ones`,
  );
  return {
    source: source.name,
    roles,
    partitions: second.partitions,
    rowsRead: rows,
    notes,
  };
}

/** For a table that is read once, within the budget of its source. */
export async function samplePartitions(
  source: PartitionSource,
  roles: ColumnRoles,
  signal: AbortSignal,
): Promise<Sample> {
  const partitions: SampledPartition[] = [];
  let [rowsRead, bounds] = [0, 0];
  for await (const { rows, rowWeights, whole, bytes, weight } of source.partitions(signal)) {
    const read = rows.flatMap((row, at) => {
      const each = readRow(row, roles);
      return each === undefined ? [] : { ...each, factor: rowWeights?.[at] ?? 1 };
    });
    rowsRead += rows.length;
    const [first] = read;
    if (first === undefined) continue;
    if (!whole) bounds++;
    const scaled = read.map(({ row, factor }) => ({
      ...row,
      weight: exactWeight(row.weight * factor),
    }));
    const counted = scaled.reduce((sum, row) => sum + row.bytes * row.weight, 0);
    const scale = bytes === undefined || !whole ? 1 : bytes / Math.max(1, counted);
    partitions.push({
      key: first.key,
      rows: inOrder(scaled.map((row) => ({ ...row, bytes: row.bytes * scale }))),
      weight: exactWeight(weight),
      whole,
    });
  }
  if (partitions.length === 0) {
    throw new SampleError(`${source.name} has no rows in the token ranges that were read`);
  }
  const notes = [...source.notes()];
  if (bounds > 0) {
    notes.push(`not read to the end: ${quantity(bounds, "partition")}; sizes are at least these`);
  }
  return { source: source.name, roles, partitions: byKey(partitions), rowsRead, notes };
}

interface FirstPass {
  readonly keys: CountSketch;
  readonly rows: number;
}

interface SecondPass {
  readonly partitions: readonly SampledPartition[];
  readonly rows: number;
  readonly share: number;
}

interface Drawn extends ReadRow {
  /** Taken while the share of all hashes is above it. */
  readonly draw: number;
  /** An estimate of the rows of its key if the key is sampled by its rows. */
  readonly ofRows: number | undefined;
}

async function secondPass(
  source: RowSource,
  { roles, rowsMax = SAMPLE_ROWS_MAX, progress }: DrawOptions,
  { keys, rows }: FirstPass,
  signal: AbortSignal,
): Promise<SecondPass> {
  const many = Math.ceil(rowsMax / MANY_SHARE);
  let share = rowsMax / rows;
  let drawn: Drawn[] = [];
  let seen = 0;
  for await (const batch of source.batches(signal)) {
    for (const each of batch.rows) {
      const read = readRow(each, roles);
      seen++;
      if (read === undefined) continue;
      const estimate = keys.atMost(hashOf(read.key, KEY_SEED), hashOf(read.key, OTHER_KEY_SEED));
      const ofRows = estimate > many ? estimate : undefined;
      const draw = hashOf(ofRows === undefined ? read.key : contentOf(each), DRAW_SEED) / HASHES;
      if (draw < share) drawn.push({ ...read, draw, ofRows });
    }
    // Rare: the hashes of the keys fell badly. What remains is what a smaller share had taken.
    while (drawn.length > 2 * rowsMax) {
      share /= 2;
      drawn = drawn.filter(({ draw }) => draw < share);
    }
    progress?.(batch, seen, 2);
  }
  if (drawn.length === 0) {
    throw new SampleError(`${source.name}: too few rows were sampled; give a larger --sample-rows`);
  }
  const found = new Map<string, number>();
  for (const { key, ofRows } of drawn) if (ofRows !== undefined) found.set(key, ofRows);
  // A key that is sampled by its rows is missed with this probability; the others stand for it.
  const chance = (ofRows: number): number => 1 - (1 - share) ** ofRows;
  const scaled = drawn.map(({ key, row, ofRows }) =>
    ofRows === undefined
      ? { key, row }
      : { key, row: { ...row, weight: exactWeight((row.weight / share) * chance(ofRows)) } },
  );
  const partitions = partitionsOf(scaled, (key) => {
    const ofRows = found.get(key);
    return exactWeight(ofRows === undefined ? 1 / share : 1 / chance(ofRows));
  });
  return { partitions, rows: drawn.length, share };
}

/** All columns: equal rows are one row to Cassandra, so they may be taken together. */
function contentOf(row: SourceRow): string {
  return Object.keys(row)
    .toSorted()
    .map((column) => textOf(row[column]))
    .join("\0");
}

function partitionsOf(
  read: readonly ReadRow[],
  weightOf: (key: string) => number,
): SampledPartition[] {
  const byKeys = new Map<string, SampledRow[]>();
  for (const { key, row } of read) {
    const rows = byKeys.get(key);
    if (rows === undefined) byKeys.set(key, [row]);
    else rows.push(row);
  }
  return byKey(
    [...byKeys].map(([key, rows]) => ({
      key,
      rows: inOrder(rows),
      weight: weightOf(key),
      whole: true,
    })),
  );
}

function byKey(partitions: SampledPartition[]): SampledPartition[] {
  return partitions.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
}

/** A total order of all that is measured: rows that compare equal are the same. */
function inOrder(rows: SampledRow[]): SampledRow[] {
  return rows.sort(
    (a, b) =>
      a.timeMicros - b.timeMicros ||
      0 ||
      a.writtenMicros - b.writtenMicros ||
      0 ||
      a.hash - b.hash ||
      a.bytes - b.bytes ||
      a.weight - b.weight ||
      compareValues(a.values, b.values) ||
      (a.deletedMicros ?? 0) - (b.deletedMicros ?? 0),
  );
}

function compareValues(a: readonly number[], b: readonly number[]): number {
  for (const [at, value] of a.entries()) {
    const other = b[at] ?? 0;
    if (value !== other) return value - other;
  }
  return 0;
}

function nothingRead({ name }: RowSource, roles: ColumnRoles, unreadable: number): string {
  if (unreadable === 0) return `${name} has no rows`;
  return (
    `${name}: no row has ${neededIn(roles).join(" and ")} with a readable value; ` +
    "name the columns with --partition-key, --time and --weight"
  );
}

function leftOut(roles: ColumnRoles, unreadable: number): string {
  return `left out ${quantity(unreadable, "row")} without a readable ${neededIn(roles).join(" or ")}`;
}

/** Columns without which a row cannot be placed. */
function neededIn({ partitionKey, time, weight }: ColumnRoles): string[] {
  return [...partitionKey, time, weight].filter((column) => typeof column === "string");
}
