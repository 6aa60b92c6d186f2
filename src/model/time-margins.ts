/**
 * The margins that rules allow for, because processes do not learn of changes at the same time.
 *
 * The configuration gives the margins. Every rule about sealed time adds some of them up, either on
 * a monotonic clock or in event time, so each has both units and no code converts.
 */
import { durationOfMs } from "../lib/time-units.ts";
import type { Duration, Millis } from "../lib/time-units.ts";

const DAY_MS = 86_400_000;

export interface TimeMargins {
  /** The largest difference between the wall clocks of two processes. */
  readonly clockSkew: Duration;
  /** The oldest copy of shared state that a process acts on. */
  readonly viewMaxAge: Duration;
  /** The longest an accepted write may be in flight. */
  readonly writeMax: Duration;
  /** `viewMaxAge` plus `writeMax`: after this, no write that an older view allowed is under way. */
  readonly settle: Duration;
  /** The longest a machine may stand still without its monotonic clock showing it (rule C24). */
  readonly pauseMax: Duration;
  /** A larger leap of the wall clock needs more than an even run to be believed (rule C25). */
  readonly believeMax: Duration;
  /** How long what retention drops, or an operator deletes, can be brought back (rule C26). */
  readonly dropGrace: Duration;
}

export function timeMargins(configured: {
  readonly clockSkewMs: Millis;
  readonly viewMaxAgeMs: Millis;
  readonly writeMaxMs: Millis;
  readonly pauseMaxMs?: Millis;
  readonly believeMaxMs?: Millis;
  readonly dropGraceMs?: Millis;
}): TimeMargins {
  const { clockSkewMs, viewMaxAgeMs, writeMaxMs } = configured;
  const { pauseMaxMs = 300_000, believeMaxMs = DAY_MS, dropGraceMs = DAY_MS } = configured;
  return {
    clockSkew: durationOfMs(clockSkewMs),
    viewMaxAge: durationOfMs(viewMaxAgeMs),
    writeMax: durationOfMs(writeMaxMs),
    settle: durationOfMs(viewMaxAgeMs + writeMaxMs),
    pauseMax: durationOfMs(pauseMaxMs),
    believeMax: durationOfMs(believeMaxMs),
    dropGrace: durationOfMs(dropGraceMs),
  };
}
