/**
 * The margins that rules allow for, because processes do not learn of changes at the same time.
 *
 * The configuration gives three margins. Every rule about sealed time adds them up, either on a
 * monotonic clock or in event time, so each has both units and no code converts.
 */
import { durationOfMs } from "../lib/time-units.ts";
import type { Duration, Millis } from "../lib/time-units.ts";

export interface TimeMargins {
  /** The largest difference between the wall clocks of two processes. */
  readonly clockSkew: Duration;
  /** The oldest copy of shared state that a process acts on. */
  readonly viewMaxAge: Duration;
  /** The longest an accepted write may be in flight. */
  readonly writeMax: Duration;
  /** `viewMaxAge` plus `writeMax`: after this, no write that an older view allowed is under way. */
  readonly settle: Duration;
}

export function timeMargins(configured: {
  readonly clockSkewMs: Millis;
  readonly viewMaxAgeMs: Millis;
  readonly writeMaxMs: Millis;
}): TimeMargins {
  const { clockSkewMs, viewMaxAgeMs, writeMaxMs } = configured;
  return {
    clockSkew: durationOfMs(clockSkewMs),
    viewMaxAge: durationOfMs(viewMaxAgeMs),
    writeMax: durationOfMs(writeMaxMs),
    settle: durationOfMs(viewMaxAgeMs + writeMaxMs),
  };
}
