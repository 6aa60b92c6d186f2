/** The CQL of a strategy, and the steps that move existing data to it. Pure. */
import { formatDurationMs } from "../lib/units.ts";
import { cqlName } from "./cql-name.ts";
import { DAY_MICROS } from "./limits.ts";
import type { AdviseLimits } from "./limits.ts";
import type { ColumnRoles } from "./roles.ts";
import type { Strategy } from "./strategies/strategy.ts";

export interface MoveSteps {
  readonly statements: readonly string[];
  readonly steps: readonly string[];
  /** What happens when a key outgrows its partitions; none for most strategies. */
  readonly transition: readonly string[];
}

export function moveTo(strategy: Strategy, roles: ColumnRoles, limits: AdviseLimits): MoveSteps {
  const { text } = strategy;
  const { table } = roles;
  if (text.added.length === 0) {
    const steps = ["nothing to do: measure again when the data has grown"];
    return { statements: [], steps, transition: [] };
  }
  const next = `${table}_split`;
  const { directory } = text;
  const graceText = formatDurationMs(limits.gcGraceMicros / 1_000);
  return {
    statements: [
      createTable(next, strategy, roles, limits),
      ...(directory === undefined
        ? []
        : [
            `CREATE TABLE ${cqlName(directory.name)} (\n` +
              directory.columns.map((column) => `  ${column},\n`).join("") +
              `  PRIMARY KEY (${directory.primaryKey})\n);`,
          ]),
    ],
    steps: [
      `create ${[next, ...(directory === undefined ? [] : [directory.name])].join(" and ")}`,
      ...(text.prepare === undefined ? [] : [text.prepare]),
      `write each new row, update and delete to ${table} and to ${next}: ${text.writes}`,
      `copy ${table} to ${next} by token ranges, each value USING TIMESTAMP of its WRITETIME, so that ` +
        "a copy never hides a newer value or undoes a delete, and with its remaining TTL" +
        (text.copies === undefined ? "" : `; ${text.copies}`),
      `end the copy within gc_grace_seconds (${graceText}): later a deleted row could come back`,
      `compare the number of rows of each ${roles.partitionKey.join(", ")} in both tables; ` +
        (text.copies === undefined
          ? "copy what differs"
          : "look for a row in all buckets of its key before you copy it again"),
      `read from ${next}: ${text.reads}`,
      `stop writing to ${table} when no reader is left; keep it for a backup's time, then drop it`,
    ],
    transition: text.transition ?? [],
  };
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
  const typeOf = (column: string): string =>
    text.added.find((each) => each.column === column)?.type ?? roles.types[column] ?? "text";
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
    ...(ttlMicros === undefined ? [] : [`default_time_to_live = ${Math.round(ttlMicros / 1e6)}`]),
    // Rows of one time expire together, and whole files with them.
    ...(ttlMicros !== undefined && option === "TIME_COLUMN"
      ? ["compaction = {'class': 'TimeWindowCompactionStrategy'}"]
      : []),
  ];
  const suffix = options.length === 0 ? "" : ` WITH ${options.join("\n  AND ")}`;
  return `CREATE TABLE ${cqlName(name)} (\n${columns}  PRIMARY KEY ((${partition})${rest})\n)${suffix};`;
}

/** Columns of the sample that the table does not have. */
function notStored({ weight, ttl, deleted, valueBytes }: ColumnRoles): ReadonlySet<unknown> {
  return new Set([weight, ttl, deleted, valueBytes]);
}
