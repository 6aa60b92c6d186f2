/** The CQL of a strategy, and the steps that move existing data to it. Pure. */
import { formatDurationMs } from "../lib/units.ts";
import { cqlName, tableBeside } from "./cql-name.ts";
import { DAY_MICROS } from "./limits.ts";
import type { AdviseLimits } from "./limits.ts";
import { hasCounters } from "./roles.ts";
import type { ColumnRoles } from "./roles.ts";
import type { Strategy, StrategyText } from "./strategies/strategy.ts";

export interface MoveSteps {
  readonly statements: readonly string[];
  readonly steps: readonly string[];
  /** What happens when a key outgrows its partitions; none for most strategies. */
  readonly transition: readonly string[];
}

export function moveTo(strategy: Strategy, roles: ColumnRoles, limits: AdviseLimits): MoveSteps {
  const { text } = strategy;
  if (text.added.length === 0) {
    const steps = [
      "nothing to do: no split is better for these queries and limits; measure again when the data has grown",
    ];
    return { statements: [], steps, transition: [] };
  }
  const next = tableBeside(roles.table, "split");
  const { directory } = text;
  const statements = [createTable(next, strategy, roles, limits)];
  if (directory !== undefined) {
    statements.push(
      `CREATE TABLE ${cqlName(directory.name)} (\n` +
        directory.columns.map((column) => `  ${column},\n`).join("") +
        `  PRIMARY KEY (${directory.primaryKey})\n);`,
    );
  }
  const tables = [next, ...(directory === undefined ? [] : [directory.name])].join(" and ");
  const steps = [
    `create ${tables}, with the other options and the indexes of ${roles.table}`,
    ...(text.prepare === undefined ? [] : [text.prepare]),
    ...(hasCounters(roles)
      ? stepsOfCounters(next, text, roles)
      : stepsOfRows(next, text, roles, limits)),
    `stop writing to ${roles.table} when no reader is left; keep it for a backup's time, then drop it`,
  ];
  return { statements, steps, transition: hasCounters(roles) ? [] : (text.transition ?? []) };
}

function stepsOfRows(
  next: string,
  text: StrategyText,
  roles: ColumnRoles,
  { gcGraceMicros }: AdviseLimits,
): string[] {
  const { table } = roles;
  const columns = Object.keys(roles.types);
  const ofType = (type: RegExp): string[] =>
    columns.filter((column) => type.test(roles.types[column] ?? ""));
  const key = roles.partitionKey.join(", ");
  const statics = ofType(/ static$/).join(", ");
  const collections = ofType(/^(?:set|list|map)</).join(", ");
  return [
    `write each new row, update and delete to ${table} and to ${next}: ${text.writes}`,
    ...(statics === ""
      ? []
      : [
          `write the static columns (${statics}) to every partition of their ${key}, or keep them in a ` +
            `table by ${key}: each new partition has its own`,
        ]),
    `copy ${table} to ${next} by token ranges, each value USING TIMESTAMP of its WRITETIME, so that ` +
      "a copy never hides a newer value or undoes a delete, and with its remaining TTL" +
      (text.copies === undefined ? "" : `; ${text.copies}`),
    ...(collections === ""
      ? []
      : [
          `copy collections (${collections}), which have no WRITETIME as a whole, USING a TIMESTAMP ` +
            "before the first write to both",
        ]),
    `end the copy within gc_grace_seconds (${formatDurationMs(gcGraceMicros / 1_000)}): later a ` +
      "deleted row could come back",
    `compare the number of rows of each ${key} in both tables; ` +
      (text.copies === undefined
        ? "copy what differs"
        : "look for a row in all buckets of its key before you copy it again"),
    `read from ${next}: ${text.reads}`,
  ];
}

/** An increment has no write time and cannot be repeated: it is written to one table only. */
function stepsOfCounters(next: string, text: StrategyText, { table }: ColumnRoles): string[] {
  return [
    `count in ${next} only: ${text.writes}`,
    `read from both tables and add: ${text.reads}`,
    `when nothing counts in ${table} any more, add each of its counters to ${next} once, key by key, and ` +
      "read a key from there when it is done; keep a list of what is done, because a counter that is " +
      "added twice counts twice",
  ];
}

function createTable(
  name: string,
  { text, option }: Strategy,
  roles: ColumnRoles,
  { gcGraceMicros }: AdviseLimits,
): string {
  const added = text.added.map(({ column }) => column);
  const clustering = roles.clustering.filter(({ column }) => !added.includes(column));
  const keys = [...roles.partitionKey, ...added, ...clustering.map(({ column }) => column)];
  const others = Object.keys(roles.types).filter(
    (column) => !keys.includes(column) && !notStored(roles).has(column),
  );
  const typeOf = (column: string): string => {
    const type =
      text.added.find((each) => each.column === column)?.type ?? roles.types[column] ?? "text";
    // Cassandra has static columns only beside clustering columns: the partition is one row.
    return clustering.length === 0 ? type.replace(/ static$/, "") : type;
  };
  const columns = [...keys, ...others]
    .map((column) => `  ${cqlName(column)} ${typeOf(column)},\n`)
    .join("");
  const partition = [...roles.partitionKey, ...added].map(cqlName).join(", ");
  const rest = clustering.map(({ column }) => `, ${cqlName(column)}`).join("");
  const order = clustering
    .map(({ column, order: each }) => `${cqlName(column)} ${each}`)
    .join(", ");
  const { ttlMicros } = roles.deletes;
  const options = [
    ...(order === "" ? [] : [`CLUSTERING ORDER BY (${order})`]),
    ...(gcGraceMicros === 10 * DAY_MICROS
      ? []
      : [`gc_grace_seconds = ${Math.round(gcGraceMicros / 1e6)}`]),
    ...(ttlMicros === undefined || hasCounters(roles)
      ? []
      : [`default_time_to_live = ${Math.round(ttlMicros / 1e6)}`]),
    // Rows of one time expire together, and whole files with them.
    ...(ttlMicros !== undefined && option === "TIME_COLUMN" ? [timeWindows(ttlMicros)] : []),
  ];
  const suffix = options.length === 0 ? "" : ` WITH ${options.join("\n  AND ")}`;
  return `CREATE TABLE ${cqlName(name)} (\n${columns}  PRIMARY KEY ((${partition})${rest})\n)${suffix};`;
}

/** About thirty windows live at a time, as Cassandra's documentation advises. */
function timeWindows(ttlMicros: number): string {
  const minutes = ttlMicros / 60e6 / WINDOWS;
  const [unit, size] =
    minutes < 60
      ? ["MINUTES", minutes]
      : minutes < 1_440
        ? ["HOURS", minutes / 60]
        : ["DAYS", minutes / 1_440];
  return (
    "compaction = {'class': 'TimeWindowCompactionStrategy',\n    'compaction_window_unit': " +
    `'${unit}', 'compaction_window_size': ${Math.ceil(size)}}`
  );
}

const WINDOWS = 30;

/** Columns of the sample that the table does not have. */
function notStored({ weight, ttl, deleted, valueBytes }: ColumnRoles): ReadonlySet<unknown> {
  return new Set([weight, ttl, deleted, valueBytes]);
}
