/**
 * Translates a namespace's service level for Cassandra: consistency, timeouts and the second
 * attempt.
 */
import cassandra from "cassandra-driver";
import type { ServiceLevel } from "../../ports/event-store.ts";
import type { Millis } from "../../lib/time-units.ts";

const { consistencies } = cassandra.types;

export interface StatementLevel {
  readonly consistency: number;
  /** One attempt at one node. */
  readonly readTimeout: number;
  /** When another replica is asked as well. */
  readonly speculateMs: number;
}

export interface WriteLevel extends StatementLevel {
  /** Of the append: a statement that was not sent by then is not sent at all. */
  readonly waitMs: number;
}

const DEFAULT_READ: ServiceLevel = { consistency: "READ_YOUR_WRITES", targetMs: 500, maxMs: 1_000 };
const DEFAULT_WRITE: ServiceLevel = { consistency: "READ_YOUR_WRITES", targetMs: 50, maxMs: 500 };
/**
 * A node gets more time than the caller wants to wait: giving up early makes a slow cluster slower.
 */
const PATIENCE = 4;
const TIMEOUT_MS_MIN = 1_000;
const TIMEOUT_MS_MAX = 30_000;
const PART_WAIT_MS = 120_000;
/**
 * The wait in line, the first attempt and two repeats must end before the longest a write may be in
 * flight.
 */
const WRITE_STEPS = 4;

/** A read that misses its target is sent to another replica. */
export function readLevel(level: ServiceLevel = DEFAULT_READ): StatementLevel {
  return {
    consistency: consistencyOf(level),
    readTimeout: clamp(PATIENCE * level.maxMs, TIMEOUT_MS_MIN, TIMEOUT_MS_MAX),
    speculateMs: Math.max(1, level.targetMs),
  };
}

/**
 * Walks over a slice: a majority of the local replicas whatever the namespace asks for, no second
 * attempt, because no caller waits, and patience with a busy cluster.
 */
export const WALK_LEVEL: StatementLevel = {
  consistency: consistencies.localQuorum,
  readTimeout: TIMEOUT_MS_MAX,
  speculateMs: TIMEOUT_MS_MAX,
};

/**
 * Writes are repeated later than reads: they are many, and a busy cluster must not get them twice.
 */
export function writeLevel(writeMaxMs: Millis, level: ServiceLevel = DEFAULT_WRITE): WriteLevel {
  const longest = writeMaxMs / WRITE_STEPS;
  return {
    consistency: consistencyOf(level),
    readTimeout: Math.min(clamp(PATIENCE * level.maxMs, TIMEOUT_MS_MIN, TIMEOUT_MS_MAX), longest),
    speculateMs: Math.max(1, level.maxMs),
    waitMs: longest,
  };
}

/**
 * Parts of splits: no caller waits for them, and none is read before it is listed, so a long write
 * of one is harmless. Giving up would mean copying the part again.
 */
export function partWriteLevel(level: ServiceLevel = DEFAULT_WRITE): WriteLevel {
  return {
    consistency: consistencyOf(level),
    readTimeout: TIMEOUT_MS_MAX,
    speculateMs: TIMEOUT_MS_MAX,
    waitMs: PART_WAIT_MS,
  };
}

function consistencyOf({ consistency }: ServiceLevel): number {
  if (consistency === "ALL") return consistencies.all;
  return consistency === "EVENTUAL" ? consistencies.localOne : consistencies.localQuorum;
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
