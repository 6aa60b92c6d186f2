/**
 * A sample of a table: what the advisor's core measures. Bounded, and in an order of its own, so
 * that nothing depends on the order in which a source gave the rows.
 *
 * There are two weights, because they mean different things. A row of weight 10 stands for ten rows
 * of its partition: the partition is ten times as large. A partition of weight 10 stands for ten
 * partitions of its size: there are ten times as many.
 */
import type { ColumnRoles } from "./roles.ts";

export interface SampledRow {
  /** Event time, and the order of rows; NaN if the table has no time. */
  readonly timeMicros: number;
  /** When it was written: its time if the source does not say. */
  readonly writtenMicros: number;
  /** As stored, in bytes, without compression. */
  readonly bytes: number;
  /** How many rows of its partition it stands for. */
  readonly weight: number;
  /** When it becomes a tombstone: undefined for never. */
  readonly deletedMicros: number | undefined;
  /** The share of such rows that are deleted then, from 0 to 1. */
  readonly deletedShare: number;
  /** A hash of the `hashed` columns: 32 bits. */
  readonly hash: number;
  /** A hash of each candidate's value, in the order of `roles.candidates`: 32 bits. */
  readonly values: readonly number[];
}

export interface SampledPartition {
  /** The values of the partition key, for people; unique in the sample. */
  readonly key: string;
  /** By time, then by what else they have. */
  readonly rows: readonly SampledRow[];
  /** How many partitions of the table it stands for. */
  readonly weight: number;
  /** Whether the rows, with their weights, are all of it. If not, its size is a lower bound. */
  readonly whole: boolean;
}

export interface Sample {
  /** For people: the file or the table. */
  readonly source: string;
  readonly roles: ColumnRoles;
  /** By key. */
  readonly partitions: readonly SampledPartition[];
  /** How many rows were read to draw the sample. */
  readonly rowsRead: number;
  /** What a reader of the advice must know of the sample: one sentence each. */
  readonly notes: readonly string[];
}

/** The rows that the rows of a partition stand for. */
export function rowsOf({ rows }: SampledPartition): number {
  let sum = 0;
  for (const { weight } of rows) sum += weight;
  return sum;
}

export function bytesOf({ rows }: SampledPartition): number {
  let sum = 0;
  for (const { weight, bytes } of rows) sum += weight * bytes;
  return sum;
}
