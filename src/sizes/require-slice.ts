/** Finds the slice that a request names. */
import { ServiceError } from "../lib/errors.ts";
import type { Micros } from "../lib/time-units.ts";
import { sliceAt } from "../model/time-slice.ts";
import type { TimeSlice } from "../model/time-slice.ts";

/** An empty name means the slice that takes events at `now`. */
export function findSlice(
  slices: readonly TimeSlice[],
  timeSlice: string,
  now: Micros,
): TimeSlice | undefined {
  return timeSlice === "" ? sliceAt(slices, now) : slices.find(({ name }) => name === timeSlice);
}

/** Throws TIME_SLICE_NOT_FOUND if there is no such slice, or no longer. */
export function requireSlice(
  slices: readonly TimeSlice[],
  namespace: string,
  timeSlice: string,
  now: Micros,
): TimeSlice {
  const slice = findSlice(slices, timeSlice, now);
  if (slice !== undefined && slice.state !== "DROPPED") return slice;
  const name = timeSlice.slice(0, 64);
  const what =
    slice !== undefined
      ? `slice ${slice.name} was dropped`
      : timeSlice === ""
        ? "there is no slice for the present time"
        : `there is no slice "${name}"`;
  throw new ServiceError(
    "TIME_SLICE_NOT_FOUND",
    `${what} in namespace "${namespace}"; ListTimeSlices shows what there is`,
    { details: { namespace, timeSlice: name } },
  );
}
