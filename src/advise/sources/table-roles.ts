/** The roles of a table's columns, from its schema. Pure. */
import { CANDIDATES_MAX, NO_DELETES } from "../roles.ts";
import type { ColumnRoles } from "../roles.ts";
import type { TableColumn, TableSchema } from "../../ports/sampled-table.ts";
import type { GivenRoles } from "../guess-roles.ts";

/** What a schema says for certain; the rest is guessed from rows, or given. */
export function rolesOfTable(schema: TableSchema): GivenRoles {
  const { columns, ttlSeconds } = schema;
  const clustering = columns.filter(({ kind }) => kind === "clustering");
  const ttlMicros = ttlSeconds > 0 ? ttlSeconds * 1_000_000 : undefined;
  return {
    table: schema.table,
    partitionKey: columns.filter(({ kind }) => kind === "partition_key").map(nameOf),
    clustering: clustering.map(({ name, order }) => ({ column: name, order })),
    time: clustering.find(({ type }) => TIME_TYPES.has(type))?.name,
    written: schema.writtenColumn,
    ttl: schema.ttlColumn,
    deletes: { ...NO_DELETES, ttlMicros },
    candidates: candidatesOf(columns),
    types: Object.fromEntries(columns.map(({ name, type }) => [name, type])),
  };
}

const TIME_TYPES: ReadonlySet<string> = new Set(["timestamp", "timeuuid", "date"]);
/** Types whose values repeat often enough to name a partition by. */
const CANDIDATE_TYPES = /^(?:ascii|text|varchar|int|smallint|tinyint|bigint|boolean|uuid|inet)$/;

function candidatesOf(columns: readonly TableColumn[]): ColumnRoles["candidates"] {
  return columns
    .filter(({ kind }) => kind !== "partition_key" && kind !== "static")
    .filter(({ type }) => CANDIDATE_TYPES.test(type))
    .map(nameOf)
    .slice(0, CANDIDATES_MAX);
}

function nameOf({ name }: TableColumn): string {
  return name;
}
