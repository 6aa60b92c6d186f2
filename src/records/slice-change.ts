/**
 * A decision on the slices of a namespace, as the namespace's record holds it from the moment it is
 * made until it is carried out.
 *
 * It says where each slice is to end up, so that whoever finds it can carry it out, and do so again.
 */
import { z } from "zod";
import type { TimeSlice } from "../model/time-slice.ts";
import { storedObject } from "./stored-json.ts";

export interface SliceChange {
  /** Listed, given room in the store, and opened; in this order, so that none leaves a gap. */
  readonly make: readonly TimeSlice[];
  /** By name: those that are CLOSED are opened. */
  readonly open: readonly string[];
  /** Those that are OPEN are closed. */
  readonly close: readonly string[];
  /** Marked as DROPPED, for good. */
  readonly drop: readonly string[];
}

/** The record stays small, and whoever waits for one change does not wait for long. */
export const CHANGE_SLICES_MAX = 200;

/** The first of what is due. The rest is decided on when that is done. */
export function boundedChange(due: Partial<SliceChange>): SliceChange {
  let left = CHANGE_SLICES_MAX;
  const first = <T>(items: readonly T[] = []): readonly T[] => {
    const taken = items.slice(0, left);
    left -= taken.length;
    return taken;
  };
  return {
    make: first(due.make),
    open: first(due.open),
    close: first(due.close),
    drop: first(due.drop),
  };
}

const count = z.number().int().nonnegative();

/** What is stored of a slice beside its name. */
export const sliceFields = {
  start: z.number().int(),
  end: z.number().int(),
  timePartition: storedObject({
    secondsPerTimeSlice: count,
    secondsPerTimeBucket: count,
    eventBuckets: count,
  }),
  state: z.enum(["OPEN", "CLOSED", "DROPPED"]),
};

export const sliceChangeSchema: z.ZodType<SliceChange> = storedObject({
  make: z.array(storedObject({ name: z.string(), ...sliceFields })),
  open: z.array(z.string()),
  close: z.array(z.string()),
  drop: z.array(z.string()),
});
