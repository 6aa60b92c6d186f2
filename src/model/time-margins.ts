/**
 * The margins that rules allow for, because processes do not learn of changes at the same time.
 *
 * The configuration gives the margins. Every rule about sealed time adds some of them up, either on
 * a monotonic clock or in event time, so each has both units and no code converts.
 */
import { durationOfMs } from "../lib/time-units.ts";
import type { Duration, Micros, Millis } from "../lib/time-units.ts";

const DAY_MS = 86_400_000;
/** The slice owner looks at a floor at least this often while it settles. */
const LOOKS_PER_SETTLING = 4;
const LOOK_MS_MAX = 5_000;
/** Floors of a namespace that settle at a time: one of them settles every 1/16 of the wait. */
export const FLOORS_SETTLING_MAX = 16;

export interface TimeMargins {
  /** The largest difference between the wall clocks of two processes. */
  readonly clockSkew: Duration;
  /** The oldest copy of shared state that a process acts on. */
  readonly viewMaxAge: Duration;
  /** The longest an accepted write may be in flight. */
  readonly writeMax: Duration;
  /**
   * `viewMaxAge` plus `writeMax`: after this, no write that an older view allowed is under way in a
   * process whose machine was not paused.
   */
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

/**
 * How long a floor is stored before it is settled (rules C1 and C24): by then no process can have a
 * write below it under way, nor begin one. A machine that was paused may still act on an older view.
 * Where the catalog is not shared there is no other machine.
 */
export function floorSettleTime(
  { settle, pauseMax }: Pick<TimeMargins, "settle" | "pauseMax">,
  { shared }: { readonly shared: boolean },
): Duration {
  return shared ? durationOfMs(settle.ms + pauseMax.ms) : settle;
}

/** The settled floor is at least this far behind the time that servers have ceased to accept. */
export function settledLag(
  margins: Pick<TimeMargins, "clockSkew" | "settle" | "pauseMax">,
  catalog: { readonly shared: boolean },
): Micros {
  return margins.clockSkew.micros + floorSettleTime(margins, catalog).micros;
}

/** How often the slice owner looks at the floors. */
export function floorLookMs(
  margins: Pick<TimeMargins, "settle" | "pauseMax">,
  catalog: { readonly shared: boolean },
): Millis {
  return Math.min(LOOK_MS_MAX, floorSettleTime(margins, catalog).ms / LOOKS_PER_SETTLING);
}

/**
 * When a floor that is stored now is settled, and its owner has stored that: the owner sees the
 * floor and its settling at the next look each, and passes over a floor that comes soon after
 * another.
 */
export function floorSettledAt(
  nowMicros: Micros,
  margins: Pick<TimeMargins, "clockSkew" | "settle" | "pauseMax">,
  catalog: { readonly shared: boolean },
): Micros {
  const settleMs = floorSettleTime(margins, catalog).ms;
  const ms = Math.ceil(
    settleMs + settleMs / FLOORS_SETTLING_MAX + 2 * floorLookMs(margins, catalog),
  );
  return nowMicros + margins.clockSkew.micros + ms * 1_000;
}
