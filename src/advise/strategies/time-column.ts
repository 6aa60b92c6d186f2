/**
 * Option 2: the time, rounded down to a width in UTC, joins the partition key.
 *
 * A query knows the partitions of its time range by computing them, whether they have rows or not.
 */
import { formatDurationMs } from "../../lib/units.ts";
import type { Query } from "../query.ts";
import { freeColumn, primaryKey } from "../roles.ts";
import type { ColumnRoles } from "../roles.ts";
import type { TableFacts } from "../table-facts.ts";
import { isGiven } from "./fixed-hash.ts";
import { partsByPairs, spreadRareParts } from "./spread-rare-parts.ts";
import type { Part, PlacedKey, Strategy } from "./strategy.ts";

export function timeColumn(widthMicros: number, roles: ColumnRoles, facts: TableFacts): Strategy {
  const { time = "" } = roles;
  const column = freeColumn("ts_partition", roles);
  const width = formatDurationMs(widthMicros / 1_000);
  const bucketOf = (micros: number): number => Math.floor(micros / widthMicros);
  const first = bucketOf(facts.firstMicros);
  const buckets = bucketOf(facts.lastMicros) - first + 1;
  const ask = (query: Query, key: PlacedKey): number => {
    if (query.given.includes(time)) return 1;
    const { rangeMicros, anchor } = query;
    // A row's key without its time does not tell where it is, so a limit ends nothing.
    const limit = isGiven(primaryKey(roles), query.given) ? undefined : query.limit;
    // A range begins anywhere in a bucket: on average it reaches into one more than it is wide.
    const inRange =
      rangeMicros === undefined ? buckets : Math.min(buckets, rangeMicros / widthMicros + 1);
    if (limit === undefined) return Math.max(1, inRange);
    if (anchor === "ANY" && rangeMicros !== undefined) {
      return Math.max(1, Math.min(inRange, Math.ceil((limit * buckets) / key.rows)));
    }
    return walk(key, { limit, buckets, inRange, oldest: query.order === "OLDEST_FIRST" });
  };
  return {
    option: "TIME_COLUMN",
    name: `time column ${width}`,
    place: ({ rows }) => rows.map(({ timeMicros }) => bucketOf(timeMicros) - first),
    correct: (parts) => inRanges(parts).flatMap(spreadRange),
    ask: (query, key) => ({ partitions: ask(query, key), merged: 1 }),
    unknownValues: () => 0,
    order: "BY_TIME",
    text: {
      added: [{ column, type: "timestamp" }],
      writes: `${column} = ${time} rounded down to ${width}, in UTC`,
      reads: `one query for each ${column} of the time range, newest first until the limit`,
    },
  };
}

/** A range of time has about so many sampled rows: its rate is known to 6 %. */
const RANGE_ROWS = 250;

/** Buckets of one range are compared with each other: a burst is not compared with quiet weeks. */
function inRanges(parts: readonly Part[]): readonly (readonly Part[])[] {
  const ranges: Part[][] = [];
  let left = sampledIn(parts);
  let room = 0;
  for (const part of parts) {
    if (room <= 0 && (ranges.length === 0 || left >= RANGE_ROWS)) {
      ranges.push([]);
      room = RANGE_ROWS;
    }
    ranges.at(-1)?.push(part);
    room -= part.sampled;
    left -= part.sampled;
  }
  return ranges;
}

function spreadRange(parts: readonly Part[]): readonly Part[] {
  const span = (parts.at(-1)?.label ?? 0) - (parts[0]?.label ?? 0) + 1;
  return spreadRareParts(parts, sampledIn(parts), Math.min(span, partsByPairs(parts)));
}

function sampledIn(parts: readonly Part[]): number {
  return parts.reduce((sum, { sampled }) => sum + sampled, 0);
}

interface Walk {
  readonly limit: number;
  readonly buckets: number;
  readonly inRange: number;
  readonly oldest: boolean;
}

/** From one end of the range, also through buckets without rows, until there are enough rows. */
function walk({ parts }: PlacedKey, { limit, buckets, inRange, oldest }: Walk): number {
  const reach = Math.ceil(inRange);
  let rows = 0;
  for (const { label, rows: found } of oldest ? parts : parts.toReversed()) {
    const asked = oldest ? label - (buckets - reach) + 1 : buckets - label;
    if (asked < 1) continue;
    if (asked > reach) break;
    rows += found;
    if (rows >= limit) return Math.min(asked, inRange);
  }
  return Math.max(1, inRange);
}
