/**
 * Whether a time slice is closed too soon for work on it to pay: one rule for the reader that reports a wide
 * partition and for the planner that splits it, so that nothing is reported only to be refused.
 */
import type { Micros } from "../lib/time-units.ts";
import type { NamespaceConfig } from "./namespace-config.ts";

/** A slice that is closed within an hour is not worth the work. */
const SOON_MICROS_MAX = 3_600_000_000;
/** Where slices live shorter than ten hours: within this share of their life. */
const SOON_SHARE = 0.1;

export interface SliceExpiry {
  readonly soon: boolean;
  /** Until the slice is closed; negative if it should be closed already. */
  readonly leftMicros: Micros;
  /** A slice with more than this left is worth the work. */
  readonly soonMicros: Micros;
}

export function sliceExpiry(
  slice: { readonly end: Micros },
  { closeAfterMicros }: NamespaceConfig["retention"],
  nowMicros: Micros,
): SliceExpiry {
  const leftMicros = slice.end + closeAfterMicros - nowMicros;
  const soonMicros = Math.min(SOON_MICROS_MAX, closeAfterMicros * SOON_SHARE);
  return { soon: leftMicros <= soonMicros, leftMicros, soonMicros };
}
