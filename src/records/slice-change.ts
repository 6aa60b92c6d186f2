/**
 * A decision on the slices of a namespace. The namespace's record holds it from the moment it is
 * made until it is carried out.
 *
 * It states the final state of each slice, so that any process that finds it can carry it out, also
 * repeatedly.
 */
import { z } from "zod";
import type { TimeSlice } from "../model/time-slice.ts";
import { storedObject } from "./stored-json.ts";

export interface SliceChange {
  /** Slices to list, make in the store, and open; in this order, so that none leaves a gap. */
  readonly make: readonly TimeSlice[];
  /** Names of slices to open if they are CLOSED. */
  readonly open: readonly string[];
  /** Names of slices to close if they are OPEN. */
  readonly close: readonly string[];
  /** Names of slices to mark as DROPPED, for good. */
  readonly drop: readonly string[];
  /** Marked as DROPPING at `at`: they can be taken back during their grace (rule C26). */
  readonly dropping: readonly string[];
  /** Those that are DROPPING become CLOSED, and retention leaves them alone until `keepUntil`. */
  readonly undrop: readonly string[];
  /** Believed time when this was decided. */
  readonly at: number;
  readonly keepUntil: number;
}

/** Keeps the record small, and the wait for one change short. */
export const CHANGE_SLICES_MAX = 200;

/** The first of the due changes. The rest is decided on when these are done. */
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
    dropping: first(due.dropping),
    undrop: first(due.undrop),
    at: due.at ?? 0,
    keepUntil: due.keepUntil ?? 0,
  };
}

const count = z.number().int().nonnegative();

/** The stored fields of a slice beside its name. */
export const sliceFields = {
  start: z.number().int(),
  end: z.number().int(),
  timePartition: storedObject({
    secondsPerTimeSlice: count,
    secondsPerTimeBucket: count,
    eventBuckets: count,
  }),
  factorBase: count.optional(),
  state: z.enum(["OPEN", "CLOSED", "DROPPING", "DROPPED"]),
};

export const sliceChangeSchema: z.ZodType<SliceChange> = storedObject({
  make: z.array(storedObject({ name: z.string(), ...sliceFields })),
  open: z.array(z.string()),
  close: z.array(z.string()),
  drop: z.array(z.string()),
  dropping: z.array(z.string()).default([]),
  undrop: z.array(z.string()).default([]),
  at: count.default(0),
  keepUntil: count.default(0),
});
