/**
 * Reads one partition in order, as bounded runs, going on by position.
 *
 * Each fetch asks for a number of rows behind the last one seen, so that nothing depends on a cursor of
 * the cluster. Pages of Cassandra are counted in rows: how many are asked for follows from the largest
 * event the slice may hold (rule C20), and when the node runs out of time, fewer are asked for.
 * Events come out as frames: what the caller is answered is put together here, once, and the items are
 * copied as they are stored.
 */
import type { types } from "cassandra-driver";
import { utf8 } from "../../lib/bytes.ts";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { ScanRange } from "../../ports/event-store.ts";
import { EventFrames } from "../../wire/event-frames.ts";
import type { Position, Run } from "../../wire/frames.ts";
import { writeInt64 } from "./append-events.ts";
import { isTimeout, readFailure } from "./driver-errors.ts";
import type { InFlight } from "./in-flight.ts";
import type { StatementLevel } from "./service-level.ts";
import type { Row, Session } from "./session.ts";

/** More rows in one answer keep the process from doing anything else for too long. */
const FETCH_EVENTS_MAX = 2_000;
/** What is read ahead has a share of the same size in the caller's budget, which a first fetch may use. */
const FIRST_SHARE = 2;
const TRIES_MAX = 6;
const RETRY_MS = 10;
/** If the slice is not known any more: what the API takes at most. */
const EVENT_BYTES_MAX = 1 << 20;
const TIME_END = Number.MAX_SAFE_INTEGER;
const NONE = Buffer.alloc(0);

export interface ScanSource {
  readonly session: Session;
  readonly inFlight: InFlight;
  readonly clock: Clock;
  /** `keyspace.table`. */
  readonly table: string;
  readonly level: StatementLevel;
  /** No event of the slice has more bytes, as far as is known now; asked before each fetch, at no cost. */
  readonly eventBytesMax: () => Promise<number | undefined>;
}

export async function* scanPartition(
  source: ScanSource,
  partition: PartitionKey,
  range: ScanRange,
  signal: AbortSignal,
): AsyncGenerator<Run, void, undefined> {
  if (range.from >= range.to) return;
  const fetcher = new Fetcher(source, partition, range, signal);
  const frames = new EventFrames(utf8(partition.seriesId));
  // Fetching ahead would be wasted on the many reads that need one fetch only.
  let ahead: Promise<readonly Row[]> | undefined;
  for (let fetches = 0; ; fetches++) {
    const rows = await (ahead ?? fetcher.fetch());
    ahead = fetches > 0 && !fetcher.ended ? fetcher.fetch() : undefined;
    // It is awaited in its turn; until then a failure must not count as unhandled.
    ahead?.catch(() => undefined);
    for (const row of rows) {
      const id = row["event_id"] as string;
      const items = (row["items"] as Buffer | null) ?? NONE;
      const time = timeOf(row);
      // A fetch has no more rows than a run may have.
      if (!frames.fits(time, id, items, range.runBytesMax)) yield frames.take();
      frames.add(time, id, items);
    }
    if (frames.count > 0) yield frames.take();
    if (ahead === undefined && fetcher.ended) return;
  }
}

class Fetcher {
  readonly #source: ScanSource;
  readonly #range: ScanRange;
  readonly #signal: AbortSignal;
  readonly #what: string;
  readonly #query: string;
  readonly #key: readonly [Buffer, Buffer, Buffer];
  #after: Position | undefined;
  /** Lowered when the node runs out of time, and raised again when it does not. */
  #limit: number;
  #asked = 0;
  ended = false;
  #fetched = false;

  constructor(source: ScanSource, partition: PartitionKey, range: ScanRange, signal: AbortSignal) {
    this.#source = source;
    this.#range = range;
    this.#signal = signal;
    this.#what = `slice ${partition.slice}`;
    this.#query = selectStatement(source.table, range.order);
    const buckets = Buffer.allocUnsafe(8);
    buckets.writeInt32BE(partition.timeBucket, 0);
    buckets.writeInt32BE(partition.eventBucket, 4);
    this.#key = [Buffer.from(partition.seriesId), buckets.subarray(0, 4), buckets.subarray(4)];
    this.#after = range.after;
    this.#limit = Math.max(1, Math.min(range.runEventsMax, FETCH_EVENTS_MAX));
  }

  /** The next rows; none, and `ended`, at the end. */
  async fetch(): Promise<readonly Row[]> {
    const { session, level } = this.#source;
    session.speculation.setDelay(this.#query, level.speculateMs);
    for (let tries = 1; ; tries++) {
      this.#signal.throwIfAborted();
      try {
        return await orAbort(this.#fetchOnce(), this.#signal);
      } catch (error) {
        this.#signal.throwIfAborted();
        if (!isTimeout(error) || tries === TRIES_MAX) {
          throw error instanceof ServiceError ? error : readFailure(error, this.#what);
        }
        // Fewer rows cost the node less; a partition written in many pieces may be slow for long.
        this.#limit = Math.max(1, this.#asked >> 2);
        await this.#source.clock.sleep(RETRY_MS * tries, this.#signal);
      }
    }
  }

  async #fetchOnce(): Promise<readonly Row[]> {
    const { session, inFlight, level } = this.#source;
    const limit = Math.min(this.#limit, await this.#rowsMax());
    this.#asked = limit;
    const params = [...this.#key, ...this.#bounds(), limit];
    const { rows, more } = await inFlight.run(() => {
      // Whoever left while it waited in line wants it no more.
      this.#signal.throwIfAborted();
      return session.execute("read", this.#query, params, {
        consistency: level.consistency,
        readTimeout: level.readTimeout,
        fetchSize: limit,
        routingKey: [...this.#key],
      });
    });
    const last = rows.at(-1);
    if (rows.length < limit && !more) this.ended = true;
    if (last !== undefined) {
      const id = Buffer.from(last["event_id"] as string);
      this.#after = { time: timeOf(last), id };
    }
    this.#fetched = true;
    this.#limit = Math.min(2 * this.#limit, this.#range.runEventsMax, FETCH_EVENTS_MAX);
    return rows;
  }

  /**
   * Lower and upper bound as positions, neither of them included. No event has an empty id, so it
   * stands for "before every event of this time".
   */
  #bounds(): [Buffer, Buffer, Buffer, Buffer] {
    const { from, to, order } = this.#range;
    const times = Buffer.allocUnsafe(16);
    let lower: Position = { time: Math.max(0, from), id: NONE };
    let upper: Position = { time: Math.min(TIME_END, to), id: NONE };
    const after = this.#after;
    if (after !== undefined) {
      if (order === "OLDEST_FIRST") {
        if (after.time >= lower.time) lower = after;
      } else if (after.time < upper.time) upper = after;
    }
    writeInt64(times, 0, Math.max(0, lower.time));
    writeInt64(times, 8, Math.max(0, upper.time));
    return [times.subarray(0, 8), bufferOf(lower.id), times.subarray(8), bufferOf(upper.id)];
  }

  /** As many of the largest as fit: a first fetch also has what is set aside for reading ahead. */
  async #rowsMax(): Promise<number> {
    const largest = (await this.#source.eventBytesMax()) ?? EVENT_BYTES_MAX;
    const bytes = this.#range.runBytesMax * (this.#fetched ? 1 : FIRST_SHARE);
    return Math.max(1, Math.floor(bytes / largest));
  }
}

function selectStatement(table: string, order: ScanRange["order"]): string {
  const ascending = order === "OLDEST_FIRST" ? "ORDER BY event_time ASC, event_id ASC " : "";
  return (
    `SELECT event_time, event_id, items FROM ${table} ` +
    "WHERE time_series_id = ? AND time_bucket = ? AND event_bucket = ? " +
    `AND (event_time, event_id) > (?, ?) AND (event_time, event_id) < (?, ?) ${ascending}LIMIT ?`
  );
}

/** The column is a bigint; turning the driver's `Long` into a number by way of text would cost the most. */
function timeOf(row: Row): number {
  return (row["event_time"] as types.Long).toNumber();
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The driver cannot be told to stop: what it still brings is dropped. */
async function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let leave: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason as Error);
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
