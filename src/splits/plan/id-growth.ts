/**
 * More event buckets for an id that will be wide again tomorrow (rule C15).
 *
 * Pure. A step only grows, by whole factors, and takes effect with a time bucket that nobody can
 * have written to before everybody knows of it. It does nothing for a bucket that is already open:
 * an id that grows wide inside one keeps its hot spot until the next.
 */
import type { Micros } from "../../lib/time-units.ts";
import { SECOND_MICROS } from "../../model/namespace-config.ts";
import type { TimePartition } from "../../model/namespace-config.ts";
import type { IdStrategyStep } from "../../model/read-mode.ts";
import type { TimeMargins } from "../../model/time-margins.ts";
import type { TimeSlice } from "../../model/time-slice.ts";

/** Every read of a time bucket asks all of its event buckets. */
const EVENT_BUCKETS_MAX = 1_024;

export interface IdGrowth {
  /** The one the wide bucket is in. */
  readonly slice: TimeSlice;
  /** Of the slices to come. */
  readonly timePartition: TimePartition;
  /**
   * Of the id in one time bucket, over all its event buckets: one partition's bytes times their
   * number.
   */
  readonly bytesInBucket: number;
  readonly targetBytes: number;
  /** Likewise. */
  readonly eventsInBucket: number;
  readonly eventsMax: number;
  /** Those the id has, by time. */
  readonly steps: readonly IdStrategyStep[] | undefined;
  readonly nowMicros: Micros;
  readonly futureLimitMicros: Micros;
  readonly margins: Pick<TimeMargins, "clockSkew" | "viewMaxAge">;
  /** The longest that storing the step may take. */
  readonly changeMaxMicros: Micros;
}

/** The step to add, or undefined if the id has enough event buckets or can have no more. */
export function nextIdStep(growth: IdGrowth): IdStrategyStep | undefined {
  const { slice, timePartition, steps } = growth;
  const last = steps?.at(-1);
  const before = last?.factor ?? 1;
  const width = timePartition.secondsPerTimeBucket;
  const expected = (partitionsNeeded(growth) * width) / slice.timePartition.secondsPerTimeBucket;
  // Of the slice and of those to come alike: a step is not taken back when a slice begins.
  const buckets = Math.max(timePartition.eventBuckets, slice.timePartition.eventBuckets);
  let factor = before;
  while (
    expected > timePartition.eventBuckets * factor &&
    buckets * factor * 2 <= EVENT_BUCKETS_MAX
  ) {
    factor *= 2;
  }
  if (factor === before) return undefined;
  return { from: firstUntouched(growth, last), factor };
}

/**
 * In how many partitions the bucket would be neither large nor wide by events: many tiny ones are
 * slow, too.
 */
function partitionsNeeded(growth: IdGrowth): number {
  const { bytesInBucket, targetBytes, eventsInBucket, eventsMax } = growth;
  return Math.max(bytesInBucket / targetBytes, eventsInBucket / eventsMax);
}

/**
 * From when on nobody can have written by the time the last view without a step ends that is being
 * stored now. A step that begins no later than this comes too late.
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
 * The start of the first time bucket that nobody may write to before all have heard of the step.
 */
function firstUntouched(growth: IdGrowth, last: IdStrategyStep | undefined): number {
  const { slice, margins } = growth;
  // By a view's age later than would be in time now, so that it still is when it comes to be
  // stored.
  const after = Math.max(untouchedFrom(growth) + margins.viewMaxAge.micros, last?.from ?? 0);
  const inSlice = nextBucketStart(after, slice.start, slice.timePartition);
  if (after >= slice.start && inSlice <= slice.end) return inSlice;
  // Slices begin at whole multiples of their width since the epoch, and buckets divide slices.
  return nextBucketStart(after, 0, growth.timePartition);
}

function nextBucketStart(after: number, origin: number, timePartition: TimePartition): number {
  const width = timePartition.secondsPerTimeBucket * SECOND_MICROS;
  return origin + (Math.floor((after - origin) / width) + 1) * width;
}
