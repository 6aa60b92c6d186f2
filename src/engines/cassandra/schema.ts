/**
 * The tables, as CQL. `docs/specs/cassandra-tables.md` describes their contents.
 *
 * A table is created with an id that follows from its name: two processes that create it at once
 * create the same table. (Otherwise each would choose an id, and Cassandra would lose the events
 * written under one of them.)
 */
import { createHash } from "node:crypto";

/** Replicas in each data centre. */
export type Replication = Readonly<Record<string, number>>;

export function createKeyspace(keyspace: string, replication: Replication): string {
  const replicas = Object.entries(replication)
    .map(([datacenter, count]) => `, '${datacenter.replaceAll("'", "''")}': ${count}`)
    .join("");
  return `CREATE KEYSPACE IF NOT EXISTS ${keyspace} WITH replication = {'class': 'NetworkTopologyStrategy'${replicas}}`;
}

/** Newest first, as most reads need it: reading in the opposite order costs Cassandra more. */
export function createEventTable(keyspace: string, table: string): string {
  return createTable(
    keyspace,
    table,
    `time_series_id text, time_bucket int, event_bucket int, event_time bigint, event_id text, items blob,
     PRIMARY KEY ((time_series_id, time_bucket, event_bucket), event_time, event_id)`,
    `CLUSTERING ORDER BY (event_time DESC, event_id DESC)
     AND compression = {'class': 'LZ4Compressor', 'chunk_length_in_kb': 16}`,
  );
}

/**
 * `last` is the greatest version that any record of the shard ever had: versions are never reused.
 */
export function createCatalogTable(keyspace: string): string {
  return createTable(
    keyspace,
    "catalog",
    `space text, shard int, key text, value text, version bigint, writer text, last bigint static,
     PRIMARY KEY ((space, shard), key)`,
  );
}

/** Counters of what was written, separate from the catalog: they change without compare-and-set. */
export function createCountsTable(keyspace: string): string {
  return createTable(
    keyspace,
    "slice_counts",
    "namespace_id text, slice text, events counter, bytes counter, PRIMARY KEY (namespace_id, slice)",
  );
}

/** `columns`: see `histogram-table.ts`. */
export function createHistogramTable(keyspace: string, columns: string): string {
  return createTable(keyspace, "partition_histogram", columns);
}

function createTable(keyspace: string, table: string, columns: string, options = ""): string {
  const id = tableId(`${keyspace}.${table}`);
  const more = options === "" ? "" : ` AND ${options}`;
  return `CREATE TABLE IF NOT EXISTS ${keyspace}.${table} (${columns}) WITH id = ${id}${more}`;
}

function tableId(name: string): string {
  const hex = createHash("sha256").update(`braid ${name}`).digest("hex");
  // The marks of a version 8 UUID, whose contents are application-defined.
  const third = `8${hex.slice(13, 16)}`;
  const fourth = `a${hex.slice(17, 20)}`;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${third}-${fourth}-${hex.slice(20, 32)}`;
}
