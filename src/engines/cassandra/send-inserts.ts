/**
 * Sends the inserts of one call, a limited number at a time, and reports one outcome for all of
 * them.
 */
import { LRUCache } from "lru-cache";
import cassandra from "cassandra-driver";
import type { policies } from "cassandra-driver";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { isMissingTable, isRefusal, writeFailure } from "./driver-errors.ts";
import type { StatementLine } from "./select-rows.ts";
import type { BatchStatements } from "./batch-statements.ts";
import type { WriteLevel } from "./service-level.ts";
import type { Session } from "./session.ts";

const { RetryPolicy } = cassandra.policies.retry;
type OperationInfo = policies.retry.OperationInfo;
type DecisionInfo = policies.retry.DecisionInfo;

const RETRIES_MAX = 2;

export interface InsertTarget {
  /** `keyspace.table`. */
  readonly table: string;
  /** Statements not sent by this time, on the monotonic clock, are not sent at all. */
  readonly sendByMs: number;
  readonly what: string;
  readonly level: WriteLevel;
}

export interface InsertMeans {
  readonly session: Pick<Session, "execute" | "batch" | "speculation">;
  readonly inFlight: StatementLine;
  readonly clock: Clock;
  readonly batches: BatchStatements;
}

/** Series, time bucket and event bucket, as bound values. */
export type BoundPartition = readonly [Buffer, Buffer, Buffer];

/** One or more rows of one partition. */
export interface Insert {
  /** The values of one row after another. */
  readonly params: Buffer[];
  readonly partition: BoundPartition;
}

/** The number of values of one row. */
const COLUMNS = 6;

/**
 * Each insert is made when it is about to be sent. Rejects as the port says: STORAGE_UNAVAILABLE
 * only if no statement can have had an effect.
 */
export async function sendInserts(
  means: InsertMeans,
  target: InsertTarget,
  inserts: readonly (() => Insert)[],
): Promise<void> {
  const attempts = new Attempts();
  const send = (make: () => Insert): Promise<void> => {
    // Others rely on the longest time a write is in flight, so a late statement must not begin.
    if (means.clock.monotonicMs() > target.sendByMs) return Promise.reject(waitedTooLong(target));
    return sendOne(means, target, make(), attempts);
  };
  const outcomes = await Promise.allSettled(
    inserts.map((make) => means.inFlight(() => send(make))),
  );
  const failures = outcomes.filter((outcome) => outcome.status === "rejected");
  if (failures.length === 0) return;
  const errors = failures.map(({ reason }): unknown => reason);
  const certain =
    failures.length === inserts.length && !attempts.outcomeUnknown && errors.every(isRefusal);
  const unsure = errors.find((error) => !isRefusal(error)) ?? errors[0];
  if (certain && errors.every(isMissingTable)) {
    throw new ServiceError("STORAGE_UNAVAILABLE", `there is no ${target.what}`);
  }
  throw writeFailure(unsure, target.what, certain);
}

function waitedTooLong({ what }: InsertTarget): ServiceError {
  return new ServiceError(
    "STORAGE_UNAVAILABLE",
    `${what} has more to write than it can accept; repeat with fewer events in flight`,
    { retryAfterMs: 1_000 },
  );
}

async function sendOne(
  { session, clock, batches }: InsertMeans,
  { table, level }: InsertTarget,
  { params, partition }: Insert,
  attempts: Attempts,
): Promise<void> {
  const rows = params.length / COLUMNS;
  const isOne = rows === 1 || batches.includes(table);
  const query = insertStatement(table, isOne ? rows : 1);
  session.speculation.setDelay(query, level.speculateMs);
  const startedMs = clock.monotonicMs();
  const options = {
    consistency: level.consistency,
    readTimeout: level.readTimeout,
    retry: attempts,
    routingKey: [...partition],
  };
  try {
    if (isOne) await session.execute("write", query, params, options);
    else await session.batch("write", query, inRows(params), options);
  } catch (error) {
    // A second node may have been asked, and the driver does not wait for both: one may still store
    // it.
    if (clock.monotonicMs() - startedMs >= level.speculateMs) attempts.outcomeUnknown = true;
    throw error;
  }
}

function inRows(params: readonly Buffer[]): Buffer[][] {
  const rows = params.length / COLUMNS;
  return Array.from({ length: rows }, (_, nth) => params.slice(nth * COLUMNS, (nth + 1) * COLUMNS));
}

/** By table. Texts of tables long dropped are forgotten; those in use are made again. */
const STATEMENTS = new LRUCache<string, string[]>({ max: 1_000 });

/** The same text each time, so that the driver finds its prepared statement. */
function insertStatement(table: string, rows: number): string {
  let bySize = STATEMENTS.get(table);
  if (bySize === undefined) {
    STATEMENTS.set(table, (bySize = []));
  }
  return (bySize[rows] ??= makeInsert(table, rows));
}

function makeInsert(table: string, rows: number): string {
  const one =
    `INSERT INTO ${table} (time_series_id, time_bucket, event_bucket, event_time, event_id, items) ` +
    "VALUES (?, ?, ?, ?, ?, ?)";
  if (rows === 1) return one;
  return `BEGIN UNLOGGED BATCH ${`${one}; `.repeat(rows)}APPLY BATCH`;
}

/**
 * Repeats a bounded number of times, because a repeat writes the same; and records whether a node
 * was asked that may have stored the events without an answer.
 */
class Attempts extends RetryPolicy {
  outcomeUnknown = false;

  override onRequestError(info: OperationInfo, consistency: number): DecisionInfo {
    this.outcomeUnknown = true;
    return this.#again(info, consistency);
  }

  override onWriteTimeout(info: OperationInfo, consistency: number): DecisionInfo {
    this.outcomeUnknown = true;
    return this.#again(info, consistency);
  }

  override onUnavailable(info: OperationInfo, consistency: number): DecisionInfo {
    return this.#again(info, consistency);
  }

  #again(info: OperationInfo, consistency: number): DecisionInfo {
    return info.nbRetry < RETRIES_MAX ? this.retryResult(consistency, false) : this.rethrowResult();
  }
}
