/**
 * Any table of a cluster, made by anybody, read a little at a time: what a sampler needs.
 *
 * Partitions are listed in the order of their tokens, which says nothing about their contents. So
 * any range of tokens is a fair sample of them.
 */

/** A value as the driver gives it, of one of these types; others come as text. */
export type ColumnValue = string | number | bigint | boolean | Date | Uint8Array | null;

export interface TableColumn {
  readonly name: string;
  readonly kind: "partition_key" | "clustering" | "static" | "regular";
  /** Within its kind. */
  readonly position: number;
  readonly order: "ASC" | "DESC";
  /** The CQL type. */
  readonly type: string;
}

export interface TableSchema {
  readonly keyspace: string;
  readonly table: string;
  /** Key columns first, each kind by position; then the others by name. */
  readonly columns: readonly TableColumn[];
  /** The TTL that rows have by default; 0: none. */
  readonly ttlSeconds: number;
  readonly gcGraceSeconds: number;
  /** Extra columns of each row: when it was written (microseconds), and when its TTL ends (Date). */
  readonly writtenColumn: string | undefined;
  readonly expiresColumn: string | undefined;
}

/** Opaque: only the table that gave it can read it. */
export type TableKey = readonly unknown[];

export interface ListedKey {
  readonly key: TableKey;
  readonly token: bigint;
}

/**
 * A range of the first clustering column: from `from` on, before `to`. Milliseconds of a timestamp
 * or a timeuuid, the number itself of a bigint or an int; other types have no ranges.
 */
export interface ClusteringRange {
  readonly from: number;
  readonly to: number;
}

export interface TableRows {
  readonly rows: readonly Readonly<Record<string, ColumnValue>>[];
  /** Where the next call continues; undefined at the end of the partition. */
  readonly next: string | undefined;
}

/** What the cluster itself estimates of a table, in bytes before compression. */
export interface TableEstimate {
  readonly partitions: number;
  readonly meanBytes: number;
  readonly largestBytes: number;
}

export interface SampledTable {
  readonly schema: TableSchema;
  /** Keys with a token above `after`, in the order of tokens: at most `limit`. */
  keysAfter(after: bigint, limit: number): Promise<readonly ListedKey[]>;
  /** Rows of one partition in clustering order, without static columns. */
  rowsOf(
    key: TableKey,
    limit: number,
    from: string | undefined,
    within?: ClusteringRange,
  ): Promise<TableRows>;
  /** The last row of a partition in clustering order; undefined if there is none. */
  lastRowOf(key: TableKey): Promise<TableRows["rows"][number] | undefined>;
  /** Undefined if no node tells. */
  estimate(): Promise<TableEstimate | undefined>;
  close(): Promise<void>;
}

/** The least token of a partition is one above. */
export const BEFORE_ALL_TOKENS = -(2n ** 63n);
export const LAST_TOKEN = 2n ** 63n - 1n;
