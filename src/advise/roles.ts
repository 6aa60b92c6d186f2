/** What each column of a table is for. */

export type ClusteringOrder = "ASC" | "DESC";

export interface ClusteringColumn {
  readonly column: string;
  readonly order: ClusteringOrder;
}

/** How rows are deleted, as far as their columns do not say. */
export interface DeletePolicy {
  /** The share of rows that are deleted one by one, from 0 to 1. */
  readonly share: number;
  /** How long after its time such a row is deleted, and after which TTL every row expires. */
  readonly afterMicros: number;
  /** Every row expires; `share` is then without meaning. */
  readonly ttlMicros: number | undefined;
}

export const NO_DELETES: DeletePolicy = { share: 0, afterMicros: 0, ttlMicros: undefined };

export interface ColumnRoles {
  /** The table's name, for the CQL. */
  readonly table: string;
  readonly partitionKey: readonly string[];
  readonly clustering: readonly ClusteringColumn[];
  /** The column with the time of a row: a timestamp or a version 1 UUID. */
  readonly time: string | undefined;
  /** The column with the time at which a row was written, if that is not its time. */
  readonly written: string | undefined;
  /** The column with the bytes of a row's values, or that number; undefined: from the values. */
  readonly valueBytes: string | number | undefined;
  /** The column with the time of a row's deletion, or a true if it is deleted. */
  readonly deleted: string | undefined;
  /** The column with a row's TTL in seconds. */
  readonly ttl: string | undefined;
  readonly deletes: DeletePolicy;
  /** The column with the number of rows that a row stands for, or that number. */
  readonly weight: string | number;
  /** Columns outside the partition key that may split it; at most `CANDIDATES_MAX`. */
  readonly candidates: readonly string[];
  /** What fixed hash and per-key variable hash: columns outside the partition key. */
  readonly hashed: readonly string[];
  /** CQL types by column; a column that is not in it has type text. */
  readonly types: Readonly<Record<string, string>>;
}

/** More candidates would make a table that nobody reads, and each costs memory per row. */
export const CANDIDATES_MAX = 12;

/** The columns that together name one row. */
export function primaryKey({ partitionKey, clustering }: ColumnRoles): readonly string[] {
  return [...partitionKey, ...clustering.map(({ column }) => column)];
}

/** A table of counters: its rows are increments, without a write time. */
export function hasCounters({ types }: ColumnRoles): boolean {
  return Object.values(types).includes("counter");
}

/** A name for a new column: `name`, or with a number if the table has such a column. */
export function freeColumn(name: string, roles: ColumnRoles): string {
  const taken = new Set([...Object.keys(roles.types), ...primaryKey(roles)]);
  for (let nth = 2, free = name; ; nth++) {
    if (!taken.has(free)) return free;
    free = `${name}_${nth}`;
  }
}
