/** The roles of a table's columns, from its schema. Pure. */
import { CANDIDATES_MAX, NO_DELETES } from "../roles.ts";
import type { ColumnRoles } from "../roles.ts";
import type { TableColumn, TableSchema } from "../../ports/sampled-table.ts";
import { CANDIDATE_BYTES_MAX } from "../guess-roles.ts";
import type { GivenRoles } from "../guess-roles.ts";
import { storedBytes } from "../read-value.ts";
import type { SourceRow } from "../row-source.ts";

/** What a schema and the first rows say; the rest is guessed, or given. */
export function rolesOfTable(schema: TableSchema, head: readonly SourceRow[]): GivenRoles {
  const { columns, ttlSeconds } = schema;
  const clustering = columns.filter(({ kind }) => kind === "clustering");
  const ttlMicros = ttlSeconds > 0 ? ttlSeconds * 1_000_000 : undefined;
  return {
    table: schema.table,
    partitionKey: columns.filter(({ kind }) => kind === "partition_key").map(nameOf),
    clustering: clustering.map(({ name, order }) => ({ column: name, order })),
    time: clustering.find(({ type }) => TIME_TYPES.has(type))?.name,
    written: schema.writtenColumn,
    deleted: schema.expiresColumn,
    deletes: { ...NO_DELETES, ttlMicros },
    candidates: candidatesOf(columns, head),
    types: Object.fromEntries(
      columns.map(({ name, type, kind }) => [name, kind === "static" ? `${type} static` : type]),
    ),
  };
}

const TIME_TYPES: ReadonlySet<string> = new Set(["timestamp", "timeuuid", "date"]);
/** Types whose values repeat often enough to name a partition by. */
const CANDIDATE_TYPES = /^(?:ascii|text|varchar|int|smallint|tinyint|bigint|boolean|uuid|inet)$/;

function candidatesOf(
  columns: readonly TableColumn[],
  head: readonly SourceRow[],
): ColumnRoles["candidates"] {
  return columns
    .filter(({ kind }) => kind !== "partition_key" && kind !== "static")
    .filter(({ type }) => CANDIDATE_TYPES.test(type))
    .map(nameOf)
    .filter((column) => head.every((row) => storedBytes(row[column]) <= CANDIDATE_BYTES_MAX))
    .slice(0, CANDIDATES_MAX);
}

function nameOf({ name }: TableColumn): string {
  return name;
}
