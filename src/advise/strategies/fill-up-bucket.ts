/**
 * Option 3: rows fill bucket 0, then bucket 1, and so on; a table of counters says how full each is.
 *
 * No partition is too large, and none is small but the last. Nothing tells which bucket a row is in.
 */
import { formatCount } from "../../lib/quantity.ts";
import { cqlName, tableBeside } from "../cql-name.ts";
import type { Query } from "../query.ts";
import { freeColumn, primaryKey } from "../roles.ts";
import type { ColumnRoles } from "../roles.ts";
import type { SampledPartition, SampledRow } from "../sample.ts";
import type { TableFacts } from "../table-facts.ts";
import { isGiven } from "./fixed-hash.ts";
import { scaled } from "./spread-rare-parts.ts";
import type { PlacedKey, Strategy } from "./strategy.ts";

export function fillUpBucket(rowsMax: number, roles: ColumnRoles, facts: TableFacts): Strategy {
  const count = formatCount(rowsMax);
  const column = freeColumn("bucket", roles);
  return {
    option: "FILL_UP_BUCKET",
    name: `fill-up bucket ${count} rows`,
    place: (partition) => bucketsOf(partition.rows, rowsMax),
    correct: (parts) => parts.map((part) => (part.rows > rowsMax ? scaled(part, rowsMax) : part)),
    ask: (query, key) => ({ partitions: askedBuckets(query, key, { roles, facts }), merged: 1 }),
    unknownValues: () => 0,
    order: "IF_WRITTEN_IN_ORDER",
    lateRows: (partition) => lateRows(partition, rowsMax),
    text: {
      added: [{ column, type: "int" }],
      writes:
        `${column} = the newest bucket of the counter table; at ${count} rows the next one; an update ` +
        "or a delete asks every bucket of its key for the row first",
      prepare:
        `count the rows of each key, and let its new rows begin in the bucket after those that its old ` +
        `rows fill (their number / ${count}, rounded up), so that the buckets stay in the order of time`,
      copies:
        "oldest first, into the buckets before those of the new rows; only rows that were written before " +
        "the first write to both, each once: nothing tells the bucket of a row, so one that is copied " +
        "twice is there twice",
      reads: "the buckets in the counter table, newest first until the limit",
      directory: {
        name: tableBeside(roles.table, "buckets"),
        columns: [
          ...roles.partitionKey.map((key) => `${cqlName(key)} ${roles.types[key] ?? "text"}`),
          `${column} int`,
          `${freeColumn("row_count", roles)} counter`,
        ],
        primaryKey: `(${roles.partitionKey.map(cqlName).join(", ")}), ${column}`,
      },
    },
  };
}

/** In the order in which rows are written. */
function bucketsOf(rows: readonly SampledRow[], rowsMax: number): Float64Array {
  const labels = new Float64Array(rows.length);
  let before = 0;
  for (const at of inWriteOrder(rows)) {
    labels[at] = Math.floor(before / rowsMax);
    before += rows[at]?.weight ?? 0;
  }
  return labels;
}

function inWriteOrder(rows: readonly SampledRow[]): number[] {
  const order = rows.map((_, at) => at);
  return order.sort(
    (a, b) => (rows[a]?.writtenMicros ?? 0) - (rows[b]?.writtenMicros ?? 0) || a - b,
  );
}

function lateRows({ rows }: SampledPartition, rowsMax: number): number {
  const labels = bucketsOf(rows, rowsMax);
  let [late, newest, newestBefore, bucket] = [0, -Infinity, -Infinity, 0];
  for (const at of inWriteOrder(rows)) {
    const row = rows[at];
    if (row === undefined) continue;
    if (labels[at] !== bucket) [bucket, newestBefore] = [labels[at] ?? 0, newest];
    newest = Math.max(newest, row.timeMicros);
    if (row.timeMicros < newestBefore) late += row.weight;
  }
  return late;
}

function askedBuckets(
  query: Query,
  { parts, rows }: PlacedKey,
  { roles, facts }: { readonly roles: ColumnRoles; readonly facts: TableFacts },
): number {
  const { rangeMicros, anchor, limit = Infinity, order, given } = query;
  // A row's own columns do not tell its bucket.
  if (isGiven(primaryKey(roles), given)) return parts.length;
  if (anchor === "ANY" && rangeMicros !== undefined) {
    const share = Math.min(1, rangeMicros / facts.spanMicros);
    const found = Math.min(rows * share, limit);
    return Math.min(parts.length, Math.ceil((found / Math.max(1, rows)) * parts.length) + 1);
  }
  const from = rangeMicros === undefined ? -Infinity : facts.lastMicros - rangeMicros;
  const inRange = parts.filter(({ lastMicros }) => !(lastMicros < from));
  let [asked, found] = [0, 0];
  for (const part of order === "OLDEST_FIRST" ? inRange : inRange.toReversed()) {
    if (found >= limit) break;
    asked++;
    found += part.rows;
  }
  return Math.max(1, asked);
}
