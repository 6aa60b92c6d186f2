/** The event time that slices must cover: all that may be written now, and one slice ahead. */
import { SECOND_MICROS } from "../model/namespace-config.ts";
import type { NamespaceConfig } from "../model/namespace-config.ts";
import type { SliceWindow } from "../model/plan-slices.ts";
import type { Micros } from "../lib/time-units.ts";

/**
 * Nothing below the floor is ever written, so no slices are made there, whatever the clock says: a
 * clock that has stepped back by years would ask for thousands.
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
 * The floor, below which no server accepts an event (rule C1). A whole number, and not before 1970.
 */
export function floorFor(
  acceptLimitMicros: Micros,
  nowMicros: Micros,
  clockSkewMicros: Micros,
): number {
  return Math.max(0, Math.floor(nowMicros - acceptLimitMicros - clockSkewMicros));
}
