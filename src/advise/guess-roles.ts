/**
 * Completes the roles of the columns from the first rows of a source, and says aloud what it
 * assumed. Pure.
 */
import { nearest } from "../lib/nearest.ts";
import type { ProblemCollector } from "../lib/problems.ts";
import { cqlType, cqlTypeOf, looksLikeTime, storedBytes, textOf } from "./read-value.ts";
import { CANDIDATES_MAX, NO_DELETES } from "./roles.ts";
import type { ClusteringColumn, ColumnRoles } from "./roles.ts";
import type { SourceRow } from "./row-source.ts";

/** Roles as a user gives them. */
export type GivenRoles = { readonly [Role in keyof ColumnRoles]?: ColumnRoles[Role] | undefined };

export interface GuessedRoles {
  readonly roles: ColumnRoles;
  /** One sentence each, with the flag that changes it. */
  readonly assumed: readonly string[];
}

/** Nobody splits by a longer text. */
export const CANDIDATE_BYTES_MAX = 64;

/** Undefined if `problems` has a problem of these roles. */
export function guessRoles(
  head: readonly SourceRow[],
  given: GivenRoles,
  problems: ProblemCollector & { readonly count: number },
): GuessedRoles | undefined {
  const before = problems.count;
  const columns = [...new Set(head.flatMap((row) => Object.keys(row)))];
  checkNames(given, columns, problems);
  if (problems.count > before) return undefined;
  const assumed: string[] = [];
  const named = new Set(
    [given.written, given.valueBytes, given.deleted, given.ttl, given.weight].filter(
      (column) => typeof column === "string",
    ),
  );
  const free = columns.filter((column) => !named.has(column));
  const time = given.time ?? guessTime(head, free, given);
  if (given.time === undefined) {
    assumed.push(
      time === undefined
        ? "no column looks like a time: give it with --time, or time columns and hot spots stay unknown"
        : `${time} is the time of a row (--time)`,
    );
  }
  const partitionKey = given.partitionKey ?? guessPartitionKey(head, free, time);
  if (given.partitionKey === undefined) {
    assumed.push(`${partitionKey.join(", ")} is the partition key (--partition-key)`);
  }
  checkKeys({ ...given, partitionKey }, problems);
  if (problems.count > before) return undefined;
  const others = free.filter((column) => !partitionKey.includes(column));
  const clustering = given.clustering ?? guessClustering(head, others, time);
  if (given.clustering === undefined) {
    const text = clustering.map(({ column, order }) => `${column} ${order}`).join(", ");
    assumed.push(`the clustering columns are ${text || "unknown"} (--clustering)`);
  }
  const candidates =
    given.candidates ??
    others.filter((column) => isCandidate(head, column, time)).slice(0, CANDIDATES_MAX);
  const hashed = given.hashed ?? guessHashed(head, clustering, others);
  const types = Object.fromEntries(
    columns.map((column) => [column, cqlTypeOf(head.map((row) => row[column]).filter(isThere))]),
  );
  return {
    roles: {
      table: given.table ?? "my_table",
      partitionKey,
      clustering,
      time,
      written: given.written,
      valueBytes: given.valueBytes,
      deleted: given.deleted,
      ttl: given.ttl,
      deletes: given.deletes ?? NO_DELETES,
      weight: given.weight ?? 1,
      candidates,
      hashed,
      types: { ...types, ...given.types },
    },
    assumed,
  };
}

const FLAGS: Partial<Record<keyof ColumnRoles, string>> = {
  partitionKey: "--partition-key",
  clustering: "--clustering",
  time: "--time",
  written: "--written",
  valueBytes: "--value-bytes",
  deleted: "--deleted",
  ttl: "--ttl-column",
  weight: "--weight",
  candidates: "--candidates",
  hashed: "--hash-columns",
};

function checkNames(
  given: GivenRoles,
  columns: readonly string[],
  problems: ProblemCollector,
): void {
  for (const [role, flag] of Object.entries(FLAGS)) {
    // Object.entries loses the type of the keys.
    const names = namesIn(given[role as keyof ColumnRoles]);
    for (const name of names) {
      if (columns.includes(name)) continue;
      const near = nearest(name, columns);
      const hint = near === undefined ? `there are ${columns.join(", ")}` : `did you mean ${near}?`;
      problems.add(`${flag} ${name}: there is no such column; ${hint}`);
    }
  }
  if (given.partitionKey?.length === 0) problems.add("--partition-key: name a column");
  if ((given.candidates?.length ?? 0) > CANDIDATES_MAX) {
    problems.add(`--candidates: give at most ${CANDIDATES_MAX} columns`);
  }
}

/** No column is in the primary key twice, and none of the partition key can split it. */
function checkKeys(given: GivenRoles, problems: ProblemCollector): void {
  const { partitionKey: keys = [], clustering = [], candidates = [], hashed = [] } = given;
  for (const column of [...candidates, ...hashed]) {
    if (!keys.includes(column)) continue;
    problems.add(`${column} is in the partition key already: it cannot split it; name another`);
  }
  const primary = [...keys, ...clustering.map(({ column }) => column)];
  for (const column of new Set(primary.filter((each, nth) => primary.indexOf(each) < nth))) {
    problems.add(`${column} is in the primary key twice (--partition-key, --clustering)`);
  }
}

function namesIn(role: unknown): string[] {
  if (typeof role === "string") return [role];
  if (!Array.isArray(role)) return [];
  return role.map((each: unknown) => (typeof each === "string" ? each : columnIn(each)));
}

function columnIn(each: unknown): string {
  return typeof each === "object" && each !== null && "column" in each ? String(each.column) : "";
}

function isThere(value: SourceRow[string]): boolean {
  return value !== null && value !== undefined && value !== "";
}

function distinctIn(head: readonly SourceRow[], column: string): number {
  return new Set(head.map((row) => textOf(row[column]))).size;
}

/** A name that says so first, then the first column whose values are all times. */
function guessTime(
  head: readonly SourceRow[],
  columns: readonly string[],
  { partitionKey = [] }: GivenRoles,
): string | undefined {
  const times = columns.filter(
    (column) =>
      !partitionKey.includes(column) &&
      !isNumberedId(head, column) &&
      head.some((row) => isThere(row[column])) &&
      head.every((row) => !isThere(row[column]) || looksLikeTime(row[column])),
  );
  return times.find((column) => /time|date|_ts$|^ts|_at$|^at$/i.test(column)) ?? times[0];
}

/** A snowflake, for instance, counts milliseconds in its upper bits from an epoch of its own. */
function isNumberedId(head: readonly SourceRow[], column: string): boolean {
  if (!/id$/i.test(column)) return false;
  return cqlTypeOf(head.map((row) => row[column]).filter(isThere)) === "bigint";
}

/** The first column with values that repeat: each value of another would be a partition. */
function guessPartitionKey(
  head: readonly SourceRow[],
  columns: readonly string[],
  time: string | undefined,
): readonly string[] {
  const others = columns.filter((column) => column !== time);
  const repeated = others.find((column) => distinctIn(head, column) < head.length);
  return [repeated ?? others[0] ?? columns[0] ?? ""];
}

/** The time, newest first, and what makes a row unique if the time does not. */
function guessClustering(
  head: readonly SourceRow[],
  others: readonly string[],
  time: string | undefined,
): readonly ClusteringColumn[] {
  const unique = others.find(
    (column) => column !== time && distinctIn(head, column) === head.length,
  );
  const byTime: ClusteringColumn[] = time === undefined ? [] : [{ column: time, order: "DESC" }];
  if (time !== undefined && cqlType(head[0]?.[time]) === "timeuuid") return byTime;
  return unique === undefined ? byTime : [...byTime, { column: unique, order: "ASC" }];
}

/** Not a plain time, which the time column strategy rounds, nor a long text. */
function isCandidate(
  head: readonly SourceRow[],
  column: string,
  time: string | undefined,
): boolean {
  const values = head.map((row) => row[column]).filter(isThere);
  // A time that is an id too may split a partition.
  if (column === time && cqlTypeOf(values) !== "timeuuid") return false;
  // Also if there are none.
  if (values.every((value) => cqlType(value) === "timestamp")) return false;
  if (values.every((value) => cqlType(value) === "double")) return false;
  if (/(?:time|_ts|_at)$/i.test(column) && values.every(looksLikeTime)) return false;
  return values.every((value) => storedBytes(value) <= CANDIDATE_BYTES_MAX);
}

/** What identifies a row, so that one row can be found; not its time alone, which is not even. */
function guessHashed(
  head: readonly SourceRow[],
  clustering: readonly ClusteringColumn[],
  others: readonly string[],
): readonly string[] {
  const columns = clustering.map(({ column }) => column);
  const ids = columns.filter((column) => cqlType(head[0]?.[column]) !== "timestamp");
  return [ids, columns, others].find(([first]) => first !== undefined) ?? [];
}
