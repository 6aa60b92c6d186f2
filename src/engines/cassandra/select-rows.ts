/**
 * Requests rows of one partition, a number of them behind a position, so that nothing depends on a
 * cursor of the cluster. Repeats a request that runs out of time, and does not keep a caller that
 * leaves waiting.
 */
import type { types } from "cassandra-driver";
import { abortable } from "../../lib/abortable.ts";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { Order } from "../../ports/event-store.ts";
import type { Position } from "../../wire/frames.ts";
import { asBuffer, int32, int64 } from "./cql-values.ts";
import { isTimeout, readFailure } from "./driver-errors.ts";
import type { StatementLevel } from "./service-level.ts";
import type { Result, Row, Session } from "./session.ts";

const TRIES_MAX = 6;
const RETRY_MS = 10;

/** Runs a statement when there is a place for it. */
export type StatementLine = <T>(work: () => Promise<T>) => Promise<T>;

export interface SelectSource {
  readonly session: Pick<Session, "execute" | "speculation">;
  readonly inFlight: StatementLine;
  readonly clock: Clock;
  /** `keyspace.table`. */
  readonly table: string;
  readonly level: StatementLevel;
}

/** Both are excluded. No event has an empty id: it means "before every event of this time". */
export interface SelectBounds {
  readonly lower: Position;
  readonly upper: Position;
}

export class RowSelect {
  readonly #source: SelectSource;
  readonly #signal: AbortSignal;
  readonly #what: string;
  readonly #key: readonly [Buffer, Buffer, Buffer];

  constructor(source: SelectSource, partition: PartitionKey, signal: AbortSignal) {
    this.#source = source;
    this.#signal = signal;
    this.#what = `slice ${partition.slice}`;
    this.#key = [
      Buffer.from(partition.seriesId),
      int32(partition.timeBucket),
      int32(partition.eventBucket),
    ];
  }

  /** Asks once, as soon as there is a place. */
  ask(order: Order, { lower, upper }: SelectBounds, limit: number): Promise<Result> {
    const { session, inFlight, level, table } = this.#source;
    const query = selectStatement(table, order);
    session.speculation.setDelay(query, level.speculateMs);
    const params = [
      ...this.#key,
      int64(lower.time),
      asBuffer(lower.id),
      int64(upper.time),
      asBuffer(upper.id),
      limit,
    ];
    return inFlight(() => {
      // The caller may have left while it waited in line.
      this.#signal.throwIfAborted();
      return session.execute("read", query, params, {
        consistency: level.consistency,
        readTimeout: level.readTimeout,
        fetchSize: limit,
        routingKey: [...this.#key],
      });
    });
  }

  /** Tries again when a node runs out of time; `askFewer` makes the next attempt smaller. */
  async patiently<T>(attempt: () => Promise<T>, askFewer: () => void): Promise<T> {
    for (let tries = 1; ; tries++) {
      this.#signal.throwIfAborted();
      try {
        // The driver cannot stop a request: its late answer is dropped.
        return await abortable(attempt(), this.#signal);
      } catch (error) {
        this.#signal.throwIfAborted();
        if (!isTimeout(error) || tries === TRIES_MAX) {
          throw error instanceof ServiceError ? error : readFailure(error, this.#what);
        }
        // Fewer rows cost the node less; a partition written in many fragments may stay slow.
        askFewer();
        await this.#source.clock.sleep(RETRY_MS * tries, this.#signal);
      }
    }
  }
}

function selectStatement(table: string, order: Order): string {
  const ascending = order === "OLDEST_FIRST" ? "ORDER BY event_time ASC, event_id ASC " : "";
  return (
    `SELECT event_time, event_id, items FROM ${table} ` +
    "WHERE time_series_id = ? AND time_bucket = ? AND event_bucket = ? " +
    `AND (event_time, event_id) > (?, ?) AND (event_time, event_id) < (?, ?) ${ascending}LIMIT ?`
  );
}

/** The column is a bigint; converting the driver's `Long` by way of text would cost the most. */
export function timeOfRow(row: Row): number {
  return (row["event_time"] as types.Long).toNumber();
}

export function positionOfRow(row: Row): Position {
  return { time: timeOfRow(row), id: Buffer.from(row["event_id"] as string) };
}
