/**
 * How long a split waits, and for what: all waits that a split's record can have, in one place.
 * Microseconds. Pure.
 */
import { SECOND_MICROS } from "./namespace-config.ts";

/** The wait for something else that must happen first and soon will. */
export const SOON_MICROS = 5 * SECOND_MICROS;
/** The wait while the slice is closed: it can be opened again, but rarely is. */
export const CLOSED_SLICE_MICROS = 3_600 * SECOND_MICROS;
/** A partition that does no harm may do some later: traffic grows, and files scatter. */
export const HARMLESS_MICROS = 3_600 * SECOND_MICROS;

/** A worker waits at least this long before it reads a range again that was too small. */
export const RANGE_MICROS_MIN = 30 * SECOND_MICROS;
/** The shortest and the longest wait before a worker surveys a growing range again. */
export const SURVEY_MICROS_MIN = 10 * SECOND_MICROS;
export const SURVEY_MICROS_MAX = 600 * SECOND_MICROS;

/** After an outage; it doubles with each consecutive one, up to a maximum. */
const OUTAGE_MICROS_FIRST = 5 * SECOND_MICROS;
const OUTAGE_MICROS_MAX = 300 * SECOND_MICROS;

/** Before a recopy, if an event appeared late in the original once more. */
export const SURFACED_AGAIN_MICROS = 300 * SECOND_MICROS;

/** After the first mismatch in a row, and after the second. */
const MISMATCH_MICROS: readonly number[] = [30 * SECOND_MICROS, 300 * SECOND_MICROS];

/** After an outage that follows this many in a row. */
export function outageWait(outagesBefore: number): number {
  return Math.min(OUTAGE_MICROS_MAX, OUTAGE_MICROS_FIRST * 2 ** Math.min(outagesBefore, 20));
}

/** After the `failures`th mismatch in a row; null: until an operator retries. */
export function failedDueAt(failures: number, nowMicros: number): number | null {
  const wait = MISMATCH_MICROS[failures - 1];
  return wait === undefined ? null : nowMicros + wait;
}
