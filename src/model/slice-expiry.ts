/**
 * Decides whether a time slice closes too soon for work on it to pay. The reader that reports a
 * wide partition and the planner that splits it share this rule, so that no report is refused later
 * for this reason.
 */
import type { Micros } from "../lib/time-units.ts";
import type { NamespaceConfig } from "./namespace-config.ts";

/** A slice that closes within an hour is not worth the work. */
const SOON_MICROS_MAX = 3_600_000_000;
/** For slices that live less than 10 hours: this share of their life. */
const SOON_SHARE = 0.1;

export interface SliceExpiry {
  readonly soon: boolean;
  /** Until the slice closes; negative if it should be closed already. */
  readonly leftMicros: Micros;
  /** A slice with more time left than this is worth the work. */
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
