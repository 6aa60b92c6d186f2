/**
 * Walks the partitions of a slice's table in the order of their tokens: a number of keys at a time,
 * each asked for behind a token, so that nothing depends on a cursor of the cluster.
 *
 * Cassandra lists keys without reading rows, and counts nothing by itself: a partition's size is
 * counted by reading it, for those that the caller wants. Two partitions may have the same token
 * (one pair in about five billion partitions), so a page ends only between tokens. A position is
 * the
 * last token.
 */
import type { types } from "cassandra-driver";
import { ServiceError } from "../../lib/errors.ts";
import { estimateSize } from "../../model/estimate-size.ts";
import type { PartitionKey, SliceRef } from "../../model/partition.ts";
import type { ScanRange } from "../../ports/event-store.ts";
import type {
  WalkedPartition,
  WalkedSize,
  WalkPage,
  WalkRequest,
} from "../../ports/partition-walk.ts";
import { readFailure, isTimeout } from "./driver-errors.ts";
import { scanPartition } from "./scan-partition.ts";
import type { ScanSource } from "./scan-partition.ts";
import type { Row } from "./session.ts";

/** No partition has this token: it stands before all of them. */
const BEFORE_ALL = -(2n ** 63n);
const AFTER_ALL = 2n ** 63n - 1n;
/** More partitions with one token do not occur; the bound keeps a page finite. */
const SAME_TOKEN_MAX = 10_000;
const TRIES_MAX = 6;
const RETRY_MS = 50;
const RUN: Pick<ScanRange, "runEventsMax" | "runBytesMax"> = {
  runEventsMax: 1_000,
  runBytesMax: 256 << 10,
};
const ALL_TIME = { from: 0, to: Number.MAX_SAFE_INTEGER, after: undefined };

export async function walkPartitions(
  source: ScanSource,
  slice: SliceRef,
  walk: WalkRequest,
  signal: AbortSignal,
): Promise<WalkPage> {
  const untilMs = source.clock.monotonicMs() + walk.msMax;
  const after = walk.after === undefined ? BEFORE_ALL : BigInt(walk.after);
  const listed = await listTokens(source, slice, after, walk.partitionsMax, signal);
  const partitions: WalkedPartition[] = [];
  let bytesRead = 0;
  for (const [token, keys] of listed.tokens) {
    for (const key of keys) {
      const { seriesId, timeBucket, eventBucket } = key;
      const { size, bytes } = walk.counts(key)
        ? await countPartition(source, key, walk.countBytesMax, signal)
        : { size: NOT_COUNTED, bytes: 0 };
      // Nothing of it is there: another process deleted its rows.
      if (size.kind === "counted" && size.events === 0) continue;
      partitions.push({ seriesId, timeBucket, eventBucket, size });
      bytesRead += bytes;
    }
    const spent = bytesRead > walk.bytesMax || source.clock.monotonicMs() >= untilMs;
    if (spent && (listed.more || token !== listed.last)) {
      return { partitions, next: String(token), idsTogether: false, bytesRead };
    }
  }
  const next = listed.more && listed.last !== undefined ? String(listed.last) : undefined;
  return { partitions, next, idsTogether: false, bytesRead };
}

const NOT_COUNTED: WalkedSize = { kind: "not counted" };

interface ListedTokens {
  /** In order, each whole. */
  readonly tokens: ReadonlyMap<bigint, readonly PartitionKey[]>;
  readonly last: bigint | undefined;
  /** Whether there may be partitions behind the last token. */
  readonly more: boolean;
}

async function listTokens(
  source: ScanSource,
  slice: SliceRef,
  after: bigint,
  limit: number,
  signal: AbortSignal,
): Promise<ListedTokens> {
  const { rows, more } = await select(
    source,
    slice,
    { from: after + 1n, to: AFTER_ALL, limit },
    signal,
  );
  const tokens = new Map<bigint, PartitionKey[]>();
  for (const row of rows) addTo(tokens, slice, row);
  const last = [...tokens.keys()].at(-1);
  if (last === undefined || !more) return { tokens, last, more: false };
  // The limit may have cut the last token in two.
  tokens.delete(last);
  const same = await select(source, slice, { from: last, to: last, limit: SAME_TOKEN_MAX }, signal);
  for (const row of same.rows) addTo(tokens, slice, row);
  return { tokens, last, more: last < AFTER_ALL };
}

function addTo(tokens: Map<bigint, PartitionKey[]>, slice: SliceRef, row: Row): void {
  // The table's own columns, and a token, which is a bigint.
  const token = BigInt((row["position"] as types.Long).toString());
  const keys = tokens.get(token) ?? [];
  tokens.set(token, keys);
  keys.push({
    ...slice,
    seriesId: row["time_series_id"] as string,
    timeBucket: row["time_bucket"] as number,
    eventBucket: row["event_bucket"] as number,
  });
}

interface TokenRange {
  /** Both included. */
  readonly from: bigint;
  readonly to: bigint;
  readonly limit: number;
}

/** The keys of a range of tokens; a cluster that runs out of time is asked for fewer. */
async function select(
  source: ScanSource,
  slice: SliceRef,
  { from, to, limit }: TokenRange,
  signal: AbortSignal,
): Promise<{ readonly rows: readonly Row[]; readonly more: boolean }> {
  const { session, inFlight, clock, table, level } = source;
  const query =
    `SELECT DISTINCT time_series_id, time_bucket, event_bucket, ${TOKEN} AS position FROM ${table} ` +
    `WHERE ${TOKEN} >= ? AND ${TOKEN} <= ? LIMIT ?`;
  let asked = Math.max(1, limit);
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    try {
      const params = [int64(from), int64(to), asked];
      const { consistency, readTimeout } = level;
      const options = { consistency, readTimeout, fetchSize: asked };
      const { rows } = await inFlight(() => session.execute("walk", query, params, options));
      signal.throwIfAborted();
      return { rows, more: rows.length >= asked };
    } catch (error) {
      signal.throwIfAborted();
      if (!isTimeout(error) || tries === TRIES_MAX) {
        throw error instanceof ServiceError ? error : readFailure(error, `slice ${slice.slice}`);
      }
      // One token is never cut.
      if (from !== to) asked = Math.max(1, asked >> 2);
      await clock.sleep(RETRY_MS * tries, signal);
    }
  }
}

const TOKEN = "token(time_series_id, time_bucket, event_bucket)";

async function countPartition(
  source: ScanSource,
  partition: PartitionKey,
  countBytesMax: number,
  signal: AbortSignal,
): Promise<{ readonly size: WalkedSize; readonly bytes: number }> {
  const count = { bytes: 0, events: 0, from: 0, to: 0 };
  // The order of the table, which costs Cassandra least.
  const newestFirst: ScanRange = { ...ALL_TIME, ...RUN, order: "NEWEST_FIRST" };
  for await (const run of scanPartition(source, partition, newestFirst, signal)) {
    if (count.bytes > countBytesMax) {
      const oldest = await oldestTime(source, partition, signal);
      const size = {
        kind: "counted",
        ...estimateSize(count, oldest ?? count.to),
        exact: false,
      } as const;
      return { size, bytes: count.bytes };
    }
    if (count.events === 0) count.from = run.first.time;
    count.to = run.last.time;
    count.events += run.count;
    count.bytes += run.bytes;
  }
  const { bytes, events } = count;
  return { size: { kind: "counted", bytes, events, exact: true }, bytes };
}

async function oldestTime(
  source: ScanSource,
  partition: PartitionKey,
  signal: AbortSignal,
): Promise<number | undefined> {
  const oldestFirst: ScanRange = { ...ALL_TIME, ...RUN, order: "OLDEST_FIRST", runEventsMax: 1 };
  for await (const { first } of scanPartition(source, partition, oldestFirst, signal)) {
    return first.time;
  }
  return undefined;
}

/** Tokens may be negative. */
function int64(value: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}
