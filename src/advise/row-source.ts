/**
 * What the advisor needs from a file or a table: rows, or whole partitions.
 *
 * A file gives rows in any order and can be read twice (`RowSource`). A table in Cassandra is
 * sampled by token ranges within a budget and read once (`PartitionSource`). Both become a `Sample`,
 * which is all that the advisor's core knows (`sample.ts`).
 */

/** A value as a file or a driver gives it. */
export type Value = string | number | bigint | boolean | Date | Uint8Array | null | undefined;

/** The values of one row by column. A column that is not in it is null. */
export type SourceRow = Readonly<Record<string, Value>>;

/** A bounded number of rows, and how far the source has been read. */
export interface RowBatch {
  readonly rows: readonly SourceRow[];
  /** Bytes of the source read so far; undefined if the source does not know. */
  readonly bytesRead?: number | undefined;
  readonly bytesTotal?: number | undefined;
}

/** Rows in any order: the advice does not depend on it. */
export interface RowSource {
  /** For people: the path of a file. */
  readonly name: string;
  /** Whether `batches` can be called a second time. A pipe cannot. */
  readonly repeatable: boolean;
  /** All rows, from the first; each call yields the same rows. Stops when the signal aborts. */
  batches(signal: AbortSignal): AsyncIterable<RowBatch>;
}

/**
 * One sampled partition of a table.
 *
 * It must carry: its key; the rows seen; whether these are all of it; and how many partitions of the
 * table it stands for. The bytes are those of the rows, unless the source knows better.
 */
export interface SourcePartition {
  /** The values of the partition key columns, in their order. */
  readonly key: readonly Value[];
  /** The rows seen. The source bounds them (for instance the first 5,000 of a partition). */
  readonly rows: readonly SourceRow[];
  /**
   * Whether `rows`, with their weights, are all of the partition. If not, the advisor takes them as
   * a lower bound, and says so.
   */
  readonly whole: boolean;
  /** How many rows of the partition each row stands for, in their order; undefined: one each. */
  readonly rowWeights?: readonly number[] | undefined;
  /** Bytes of the whole partition as stored, if the source knows them better than by its rows. */
  readonly bytes?: number | undefined;
  /**
   * How many partitions of the table this one stands for: 1 / (share of the token ring that was
   * sampled). A partition that was looked up because it is large stands for itself: 1. It must then
   * not come a second time from a token range.
   */
  readonly weight: number;
}

/** Partitions of a table, each at most once, sampled within a budget. Read once. */
export interface PartitionSource {
  /** For people: `keyspace.table`. */
  readonly name: string;
  /** Ends when the budget is spent. Stops when the signal aborts. */
  partitions(signal: AbortSignal): AsyncIterable<SourcePartition>;
  /** What the budget was and what was read of it, one sentence each; called after the last one. */
  notes(): readonly string[];
}
