/**
 * Gives more event buckets to an id that is likely to be wide again (rule C15).
 *
 * Pure. A step only increases the number of event buckets, by whole factors. It takes effect at the
 * start of a time bucket that no server can write to before all servers know the step. It changes
 * nothing in an open time bucket: an id that becomes wide there keeps its hot spot until the next
 * time bucket.
 */
import type { Micros } from "../../lib/time-units.ts";
import { SECOND_MICROS } from "../../model/namespace-config.ts";
import type { TimePartition } from "../../model/namespace-config.ts";
import type { IdStrategyStep } from "../../model/read-mode.ts";
import type { TimeMargins } from "../../model/time-margins.ts";
import { factorBaseOf, grownBuckets } from "../../model/partition.ts";
import type { TimeSlice } from "../../model/time-slice.ts";

/** Bounded, because every read of a time bucket reads all its event buckets. */
const EVENT_BUCKETS_MAX = 1_024;

export interface IdGrowth {
  /** The slice that contains the wide time bucket. */
  readonly slice: TimeSlice;
  /** The time partition of future slices. */
  readonly timePartition: TimePartition;
  /**
   * The id's bytes in one time bucket, over all event buckets: the bytes of one partition times the
   * number of event buckets.
   */
  readonly bytesInBucket: number;
  readonly targetBytes: number;
  /** The id's events in one time bucket, over all event buckets. */
  readonly eventsInBucket: number;
  readonly eventsMax: number;
  /** The id's existing steps, ordered by time. */
  readonly steps: readonly IdStrategyStep[] | undefined;
  readonly nowMicros: Micros;
  readonly futureLimitMicros: Micros;
  readonly margins: Pick<TimeMargins, "clockSkew" | "viewMaxAge">;
  /** The longest time that storing the step may take. */
  readonly changeMaxMicros: Micros;
}

/** The step to add; undefined if the id has enough event buckets or has reached the maximum. */
export function nextIdStep(growth: IdGrowth): IdStrategyStep | undefined {
  const { slice, timePartition, steps } = growth;
  const last = steps?.at(-1);
  const before = last?.factor ?? 1;
  const width = timePartition.secondsPerTimeBucket;
  const expected = (partitionsNeeded(growth) * width) / slice.timePartition.secondsPerTimeBucket;
  // The maximum applies to this slice and to future slices: a new slice does not revert a step.
  const factorBase = factorBaseOf(slice);
  const future = { timePartition, factorBase };
  const most = Math.max(factorBase, timePartition.eventBuckets, slice.timePartition.eventBuckets);
  let factor = before;
  while (expected > grownBuckets(future, factor) && most * factor * 2 <= EVENT_BUCKETS_MAX) {
    factor *= 2;
  }
  if (factor === before) return undefined;
  return { from: firstUntouched(growth, last), factor };
}

/**
 * The fewest partitions of which none is over the target in bytes or over the limit in events. The
 * events count because many tiny events are slow to read, too.
 */
function partitionsNeeded(growth: IdGrowth): number {
  const { bytesInBucket, targetBytes, eventsInBucket, eventsMax } = growth;
  return Math.max(bytesInBucket / targetBytes, eventsInBucket / eventsMax);
}

/**
 * The start of the event time that no server can have written to when the last view without the
 * step expires, if the storing of the step begins now. A step that begins at or before this time
 * comes too late.
 */
export function untouchedFrom({
  nowMicros,
  futureLimitMicros,
  margins,
  changeMaxMicros,
}: Pick<IdGrowth, "nowMicros" | "futureLimitMicros" | "margins" | "changeMaxMicros">): Micros {
  const known = nowMicros + changeMaxMicros + margins.viewMaxAge.micros;
  return known + futureLimitMicros + margins.clockSkew.micros;
}

/**
 * The start of the first time bucket that no server can write to before all servers know the step.
 */
function firstUntouched(growth: IdGrowth, last: IdStrategyStep | undefined): number {
  const { slice, margins } = growth;
  // Adds one `view_max_age` to the earliest time that is safe now, so that the step is still in
  // time when it is stored.
  const after = Math.max(untouchedFrom(growth) + margins.viewMaxAge.micros, last?.from ?? 0);
  const inSlice = nextBucketStart(after, slice.start, slice.timePartition);
  if (after >= slice.start && inSlice <= slice.end) return inSlice;
  // Slices start at whole multiples of their width since 1970, and time buckets divide slices.
  return nextBucketStart(after, 0, growth.timePartition);
}

function nextBucketStart(after: number, origin: number, timePartition: TimePartition): number {
  const width = timePartition.secondsPerTimeBucket * SECOND_MICROS;
  return origin + (Math.floor((after - origin) / width) + 1) * width;
}
