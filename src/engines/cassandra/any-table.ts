/**
 * Reads any table of a cluster for a sampler: one small statement at a time, from one replica.
 *
 * Nothing is written, no schema is changed, and no statement scans more than a few rows: keys by
 * token, rows by partition. A table of any age is read, also one whose replicas differ.
 */
import cassandra from "cassandra-driver";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type {
  ClusteringRange,
  ColumnValue,
  ListedKey,
  SampledTable,
  TableColumn,
  TableEstimate,
  TableKey,
  TableRows,
  TableSchema,
} from "../../ports/sampled-table.ts";
import type { ClusterOptions } from "./cluster-options.ts";
import { readFailure } from "./driver-errors.ts";
import { Session } from "./session.ts";
import type { Row } from "./session.ts";

const { types } = cassandra;
const OPTIONS = { consistency: types.consistencies.localOne, readTimeout: 10_000 };
const MIB = 1_048_576;
// No column has such a name.
const WRITTEN = "(written)";
const EXPIRES = "(expires)";
const TOKEN = "(token)";

/** Connects, and rejects with a sentence if there is no such table. */
export async function openAnyTable(
  options: Omit<ClusterOptions, "replication">,
  clock: Clock,
  keyspace: string,
  table: string,
): Promise<SampledTable> {
  const session = await Session.connect({ ...options, replication: {} }, clock, {
    observe: () => undefined,
    warn: () => undefined,
  });
  try {
    return new AnyTable(session, clock, await schemaOf(session, keyspace, table));
  } catch (error) {
    await session.close();
    throw error;
  }
}

class AnyTable implements SampledTable {
  readonly schema: TableSchema;
  readonly #session: Session;
  readonly #clock: Clock;
  readonly #name: string;
  readonly #key: readonly string[];
  readonly #selectRows: string;

  constructor(session: Session, clock: Clock, schema: TableSchema) {
    this.#session = session;
    this.#clock = clock;
    this.schema = schema;
    this.#name = `${quoted(schema.keyspace)}.${quoted(schema.table)}`;
    this.#key = namesOf(schema, "partition_key").map(quoted);
    const columns = schema.columns
      .filter(({ kind }) => kind !== "static")
      .map(({ name }) => quoted(name));
    const timed = timedColumn(schema.columns);
    if (timed !== undefined) {
      const column = quoted(timed);
      columns.push(`writetime(${column}) AS "${WRITTEN}"`, `ttl(${column}) AS "${EXPIRES}"`);
    }
    const where = this.#key.map((column) => `${column} = ?`).join(" AND ");
    this.#selectRows = `SELECT ${columns.join(", ")} FROM ${this.#name} WHERE ${where}`;
  }

  async keysAfter(after: bigint, limit: number): Promise<readonly ListedKey[]> {
    const key = this.#key.join(", ");
    const query = `SELECT DISTINCT ${key}, token(${key}) AS "${TOKEN}" FROM ${this.#name}
      WHERE token(${key}) > ? LIMIT ?`;
    const rows = await this.#ask(query, [types.Long.fromString(String(after)), limit], limit);
    const names = namesOf(this.schema, "partition_key");
    return rows.map((row) => ({
      key: names.map((name) => row[name]),
      // A token of the only partitioner that is in use, Murmur3, is a bigint.
      token: BigInt((row[TOKEN] as { toString(): string }).toString()),
    }));
  }

  async rowsOf(
    key: TableKey,
    limit: number,
    from: string | undefined,
    within?: ClusteringRange,
  ): Promise<TableRows> {
    const paging = from === undefined ? {} : { pageState: from };
    const range = within === undefined ? NO_RANGE : rangeOf(this.schema, within);
    const query = this.#selectRows + range.where;
    const { rows, next } = await this.#execute(query, [...key, ...range.params], {
      ...OPTIONS,
      fetchSize: limit,
      ...paging,
    });
    return { rows: rows.map((row) => this.#rowOf(row)), next };
  }

  async lastRowOf(key: TableKey): Promise<TableRows["rows"][number] | undefined> {
    const [first] = this.schema.columns.filter(({ kind }) => kind === "clustering");
    if (first === undefined) return undefined;
    const reversed = first.order === "ASC" ? "DESC" : "ASC";
    const query = `${this.#selectRows} ORDER BY ${quoted(first.name)} ${reversed} LIMIT 1`;
    const [last] = await this.#ask(query, [...key], 1);
    return last === undefined ? undefined : this.#rowOf(last);
  }

  /** Each node tells of its own data: the sum of all that answer, for the ranges they own first. */
  async estimate(): Promise<TableEstimate | undefined> {
    const { keyspace, table } = this.schema;
    let [nodes, partitions, bytes, largestBytes] = [0, 0, 0, 0];
    for (const host of this.#session.hostsUp) {
      try {
        const options = { ...OPTIONS, host, readTimeout: 2_000, fetchSize: 5_000 };
        const names = [keyspace, table];
        const estimates = await this.#execute(ESTIMATES, names, options);
        for (const row of estimates.rows) {
          const count = Number(row["partitions_count"]);
          partitions += count;
          bytes += count * Number(row["mean_partition_size"]);
        }
        const [largest] = (await this.#execute(LARGEST, names, options)).rows;
        largestBytes = Math.max(largestBytes, Number(largest?.["mebibytes"] ?? 0) * MIB);
        nodes++;
      } catch {
        // A node that does not tell, or an old version without these tables: the sample does not need it.
      }
    }
    if (nodes === 0 || partitions === 0) return undefined;
    const meanBytes = Math.round(bytes / partitions);
    const all = Math.round((partitions * this.#session.localHosts.length) / nodes);
    return { partitions: all, meanBytes, largestBytes };
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  /** Cassandra tells the rest of a TTL in seconds. */
  #rowOf(row: Row): Readonly<Record<string, ColumnValue>> {
    const values: Record<string, ColumnValue> = {};
    for (const [column, value] of Object.entries(row)) values[column] = valueOf(value);
    const seconds = values[EXPIRES];
    if (typeof seconds !== "number") return values;
    const nowMs = this.#clock.nowMicros() / 1_000;
    return { ...values, [EXPIRES]: new Date(nowMs + seconds * 1_000) };
  }

  async #ask(query: string, params: unknown[], limit: number): Promise<readonly Row[]> {
    const { rows } = await this.#execute(query, params, { ...OPTIONS, fetchSize: limit });
    return rows;
  }

  async #execute(...[query, params, options]: [string, unknown[], Record<string, unknown>]) {
    try {
      return await this.#session.execute("walk", query, params, options);
    } catch (error) {
      throw readFailure(error, `table ${this.schema.keyspace}.${this.schema.table}`);
    }
  }
}

const ESTIMATES = `SELECT mean_partition_size, partitions_count FROM system.table_estimates
  WHERE keyspace_name = ? AND table_name = ? AND range_type = 'local_primary'`;
const LARGEST = `SELECT mebibytes FROM system_views.max_partition_size
  WHERE keyspace_name = ? AND table_name = ?`;

async function schemaOf(session: Session, keyspace: string, table: string): Promise<TableSchema> {
  const ask = async (query: string): Promise<readonly Row[]> =>
    (await session.execute("walk", query, [keyspace, table], OPTIONS)).rows;
  const where = "WHERE keyspace_name = ? AND table_name = ?";
  const [options] = await ask(
    `SELECT default_time_to_live, gc_grace_seconds FROM system_schema.tables ${where}`,
  );
  if (options === undefined) {
    throw new ServiceError(
      "REQUEST_INVALID",
      `there is no table ${keyspace}.${table}; DESCRIBE TABLES in cqlsh lists them, ` +
        "and a name with capitals needs quotes",
    );
  }
  const rows = await ask(
    `SELECT column_name, kind, position, clustering_order, type FROM system_schema.columns ${where}`,
  );
  const columns = rows.map(columnOf).toSorted(byKindAndPosition);
  const timed = timedColumn(columns) !== undefined;
  return {
    keyspace,
    table,
    columns,
    ttlSeconds: Number(options["default_time_to_live"]),
    gcGraceSeconds: Number(options["gc_grace_seconds"]),
    writtenColumn: timed ? WRITTEN : undefined,
    expiresColumn: timed ? EXPIRES : undefined,
  };
}

const NO_RANGE = { where: "", params: [] as unknown[] };

function rangeOf({ columns }: TableSchema, { from, to }: ClusteringRange): typeof NO_RANGE {
  const first = columns.find(({ kind }) => kind === "clustering");
  if (first === undefined) return NO_RANGE;
  const bound = first.type === "timeuuid" ? "minTimeuuid(?)" : "?";
  const column = quoted(first.name);
  return {
    where: ` AND ${column} >= ${bound} AND ${column} < ${bound}`,
    params: [from, to].map((each) => boundOf(each, first.type)),
  };
}

function boundOf(value: number, type: string): unknown {
  if (type === "bigint") return types.Long.fromString(String(BigInt(value)));
  return type === "int" ? value : new Date(value);
}

const KINDS: readonly TableColumn["kind"][] = ["partition_key", "clustering", "static", "regular"];

function columnOf(row: Row): TableColumn {
  return {
    name: String(row["column_name"]),
    kind: KINDS.find((kind) => kind === row["kind"]) ?? "regular",
    position: Number(row["position"]),
    order: row["clustering_order"] === "desc" ? "DESC" : "ASC",
    type: String(row["type"]),
  };
}

function byKindAndPosition(a: TableColumn, b: TableColumn): number {
  return (
    KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) ||
    a.position - b.position ||
    (a.name < b.name ? -1 : 1)
  );
}

function namesOf({ columns }: TableSchema, kind: TableColumn["kind"]): string[] {
  return columns.filter((column) => column.kind === kind).map(({ name }) => name);
}

/** A column whose time of writing and TTL can be asked for: a single cell, and no counter. */
function timedColumn(columns: readonly TableColumn[]): string | undefined {
  return columns.find(({ kind, type }) => kind === "regular" && SINGLE_CELL.test(type))?.name;
}

const SINGLE_CELL =
  /^(?:ascii|bigint|blob|boolean|date|decimal|double|float|inet|int|smallint|text|time|timestamp|timeuuid|tinyint|uuid|varchar|varint|frozen<.*>)$/;

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function valueOf(value: unknown): ColumnValue {
  if (value === null || value === undefined) return null;
  if (value instanceof types.Long) return BigInt(value.toString());
  if (value instanceof Date || value instanceof Uint8Array) return value;
  switch (typeof value) {
    case "string":
    case "number":
    case "bigint":
    case "boolean":
      return value;
    default:
      return textOf(value);
  }
}

/** UUIDs, dates, addresses and large numbers print themselves; collections do not. */
function textOf(value: unknown): string {
  const printed = String(value);
  return Array.isArray(value) || printed === "[object Object]"
    ? (JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? `${each}` : each)) ??
        "")
    : printed;
}
