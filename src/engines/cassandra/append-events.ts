/**
 * Stores the events of one slice: those of one partition together, in batches that one replica set takes
 * as a single mutation.
 *
 * A batch is one prepared statement of several inserts, so that Cassandra parses nothing and the driver
 * looks up one statement, not one an event. It never leaves its partition and is bounded in events and
 * bytes. There are statements for twenty numbers of inserts, not for each: a batch in between repeats its
 * last event, which changes nothing and costs less than a second statement.
 */
import cassandra from "cassandra-driver";
import type { policies } from "cassandra-driver";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { PlacedEvent } from "../../ports/event-store.ts";
import { isMissingTable, isRefusal, writeFailure } from "./driver-errors.ts";
import type { InFlight } from "./in-flight.ts";
import type { WriteLevel } from "./service-level.ts";
import type { Session } from "./session.ts";

const { RetryPolicy } = cassandra.policies.retry;
type OperationInfo = policies.retry.OperationInfo;
type DecisionInfo = policies.retry.DecisionInfo;

/** Beyond this a batch gains little, and a slow one holds up more. */
const BATCH_EVENTS_MAX = 64;
const BATCH_BYTES_MAX = 64 << 10;
const RETRIES_MAX = 2;

interface PartitionGroup {
  /** Series, time bucket and event bucket, as they are bound. */
  readonly key: readonly [Buffer, Buffer, Buffer];
  readonly events: PlacedEvent[];
}

export interface AppendTarget {
  /** `keyspace.table`. */
  readonly table: string;
  /** What is not sent by then, on the monotonic clock, is not sent at all. */
  readonly sendByMs: number;
  readonly what: string;
  readonly level: WriteLevel;
}

export interface AppendMeans {
  readonly session: Session;
  readonly inFlight: InFlight;
  readonly clock: Clock;
}

/** Rejects as the port says: STORAGE_UNAVAILABLE only if no statement can have done anything. */
export async function appendEvents(
  { session, inFlight, clock }: AppendMeans,
  target: AppendTarget,
  events: readonly PlacedEvent[],
): Promise<void> {
  const batches = groupByPartition(events).flatMap(cutIntoBatches);
  const attempts = new Attempts();
  const send = (batch: PartitionGroup): Promise<void> => {
    // Whoever counts on no write being longer in flight must not be surprised by one that only begins.
    if (clock.monotonicMs() > target.sendByMs) return Promise.reject(waitedTooLong(target));
    return insert(session, target, batch, attempts, clock);
  };
  const outcomes = await Promise.allSettled(
    batches.map((batch) => inFlight.run(() => send(batch))),
  );
  const failures = outcomes.filter((outcome) => outcome.status === "rejected");
  if (failures.length === 0) return;
  const errors = failures.map(({ reason }): unknown => reason);
  const certain =
    failures.length === batches.length && !attempts.inDoubt && errors.every(isRefusal);
  const unsure = errors.find((error) => !isRefusal(error)) ?? errors[0];
  if (certain && errors.every(isMissingTable)) {
    throw new ServiceError("STORAGE_UNAVAILABLE", `there is no ${target.what}`);
  }
  throw writeFailure(unsure, target.what, certain);
}

function waitedTooLong({ what }: AppendTarget): ServiceError {
  return new ServiceError(
    "STORAGE_UNAVAILABLE",
    `${what} has more to write than it can take; repeat with fewer events in flight`,
    { retryAfterMs: 1_000 },
  );
}

/** Events of one batch often belong to one partition, one after another: then nothing is looked up. */
function groupByPartition(events: readonly PlacedEvent[]): PartitionGroup[] {
  const groups = new Map<string, PartitionGroup>();
  for (const placed of events) {
    const { event, timeBucket, eventBucket } = placed;
    const bytes = asBuffer(event.bytes);
    const series = bytes.toString("latin1", event.seriesStart, event.seriesEnd);
    const name = `${timeBucket}/${eventBucket}/${series}`;
    const group = groups.get(name);
    if (group !== undefined) group.events.push(placed);
    else {
      const id = bytes.subarray(event.seriesStart, event.seriesEnd);
      groups.set(name, { key: [id, int32(timeBucket), int32(eventBucket)], events: [placed] });
    }
  }
  return [...groups.values()];
}

function cutIntoBatches(group: PartitionGroup): PartitionGroup[] {
  const { key, events } = group;
  const batches: PartitionGroup[] = [];
  for (let at = 0; at < events.length;) {
    let count = 0;
    let bytes = 0;
    while (count < BATCH_EVENTS_MAX && at + count < events.length) {
      const { event } = events[at + count] as PlacedEvent;
      bytes += event.end - event.start;
      if (count > 0 && bytes > BATCH_BYTES_MAX) break;
      count++;
    }
    batches.push(count === events.length ? group : { key, events: events.slice(at, at + count) });
    at += count;
  }
  return batches;
}

/** The inserts of the statement for so many events: every number up to 8, then in steps of an eighth. */
export function insertsFor(events: number): number {
  const step = events <= 8 ? 1 : 2 ** (Math.ceil(Math.log2(events)) - 3);
  return Math.ceil(events / step) * step;
}

async function insert(
  session: Session,
  { table, level }: AppendTarget,
  { key, events }: PartitionGroup,
  attempts: Attempts,
  clock: Clock,
): Promise<void> {
  const inserts = insertsFor(events.length);
  const query = insertStatement(table, inserts);
  session.speculation.setDelay(query, level.speculateMs);
  const times = Buffer.allocUnsafe(8 * inserts);
  const params: Buffer[] = [];
  for (let i = 0; i < inserts; i++) {
    const { event } = events[Math.min(i, events.length - 1)] as PlacedEvent;
    const bytes = asBuffer(event.bytes);
    writeInt64(times, 8 * i, event.time);
    params.push(
      ...key,
      times.subarray(8 * i, 8 * i + 8),
      bytes.subarray(event.idStart, event.idEnd),
      bytes.subarray(event.itemsStart, event.end),
    );
  }
  const startedMs = clock.monotonicMs();
  try {
    await session.execute("write", query, params, {
      consistency: level.consistency,
      readTimeout: level.readTimeout,
      retry: attempts,
      routingKey: [...key],
    });
  } catch (error) {
    // A second node may have been asked, and the driver does not wait for both: one may still store it.
    if (clock.monotonicMs() - startedMs >= level.speculateMs) attempts.inDoubt = true;
    throw error;
  }
}

const STATEMENTS = new Map<string, string[]>();

/** The same text each time, so that the driver finds what it has prepared. */
function insertStatement(table: string, count: number): string {
  let bySize = STATEMENTS.get(table);
  if (bySize === undefined) {
    // Texts of tables long dropped are not worth keeping; those in use are made again.
    if (STATEMENTS.size > 1_000) STATEMENTS.clear();
    STATEMENTS.set(table, (bySize = []));
  }
  return (bySize[count] ??= makeInsert(table, count));
}

function makeInsert(table: string, count: number): string {
  const one =
    `INSERT INTO ${table} (time_series_id, time_bucket, event_bucket, event_time, event_id, items) ` +
    "VALUES (?, ?, ?, ?, ?, ?)";
  if (count === 1) return one;
  return `BEGIN UNLOGGED BATCH ${`${one}; `.repeat(count)}APPLY BATCH`;
}

/**
 * Repeats a bounded number of times, since a repeat writes the same; and knows afterwards whether a
 * node was asked that may have stored the events without saying so.
 */
class Attempts extends RetryPolicy {
  inDoubt = false;

  override onRequestError(info: OperationInfo, consistency: number): DecisionInfo {
    this.inDoubt = true;
    return this.#again(info, consistency);
  }

  override onWriteTimeout(info: OperationInfo, consistency: number): DecisionInfo {
    this.inDoubt = true;
    return this.#again(info, consistency);
  }

  override onUnavailable(info: OperationInfo, consistency: number): DecisionInfo {
    return this.#again(info, consistency);
  }

  #again(info: OperationInfo, consistency: number): DecisionInfo {
    return info.nbRetry < RETRIES_MAX ? this.retryResult(consistency, false) : this.rethrowResult();
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function int32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32BE(value, 0);
  return bytes;
}

/** Times are not negative and exact in a number. */
export function writeInt64(target: Buffer, at: number, value: number): void {
  const high = Math.floor(value / 0x1_0000_0000);
  target.writeUInt32BE(high, at);
  target.writeUInt32BE(value - high * 0x1_0000_0000, at + 4);
}
