/**
 * The event time for which slices must be there: all that may be written now, and one slice ahead.
 */
import { SECOND_MICROS } from "../model/namespace-config.ts";
import type { NamespaceConfig } from "../model/namespace-config.ts";
import type { SliceWindow } from "../model/plan-slices.ts";
import type { Micros } from "../lib/time-units.ts";

/**
 * Nothing below the floor is ever written, so no slices are made there, whatever the clock says:
 * one that has stepped back by years would ask for thousands.
 */
export function sliceWindow(
  config: NamespaceConfig,
  floor: number,
  nowMicros: Micros,
  clockSkewMicros: Micros,
): SliceWindow {
  return {
    from: Math.max(floor, floorFor(config.acceptLimitMicros, nowMicros, clockSkewMicros)),
    to:
      nowMicros +
      config.futureLimitMicros +
      config.timePartition.secondsPerTimeSlice * SECOND_MICROS,
  };
}

/**
 * The line below which no server accepts an event any more (rule C1). Whole, and not before 1970.
 */
export function floorFor(
  acceptLimitMicros: Micros,
  nowMicros: Micros,
  clockSkewMicros: Micros,
): number {
  return Math.max(0, Math.floor(nowMicros - acceptLimitMicros - clockSkewMicros));
}
