/**
 * What processes have to allow for because they do not know the same at the same time.
 *
 * The configuration gives three margins. Every rule about sealed time adds them up, either on a monotonic
 * clock or in event time, so each is there in both units and nobody converts.
 */
import { durationOfMs } from "../lib/time-units.ts";
import type { Duration, Millis } from "../lib/time-units.ts";

export interface TimeMargins {
  /** How far the wall clocks of two processes may be apart. */
  readonly clockSkew: Duration;
  /** How old a process's copy of shared state may be while the process acts on it. */
  readonly viewMaxAge: Duration;
  /** The longest an accepted write may be in flight. */
  readonly writeMax: Duration;
  /** `viewMaxAge` and `writeMax`: after this, no write that an older view allowed is under way. */
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
