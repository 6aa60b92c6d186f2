/**
 * The time buckets that an interval touches, in the order of the read, from where the last page
 * ended. Pure and lazy: a long interval over short buckets has many.
 */
import { SECOND_MICROS } from "../model/namespace-config.ts";
import { grownBuckets, timeBucketOf, timeBucketRange } from "../model/partition.ts";
import type { IdStrategyStep } from "../model/read-mode.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { BucketSearch, Order } from "../ports/event-store.ts";
import type { Position } from "../wire/frames.ts";

export interface BucketRange {
  readonly slice: TimeSlice;
  readonly timeBucket: number;
  /** The part of the bucket to read: event time, including `from`, excluding `to`. */
  readonly from: number;
  readonly to: number;
}

export interface ReadRange {
  readonly start: number;
  readonly end: number;
  readonly order: Order;
  /** The last position examined, if this is not the first page. */
  readonly after: Position | undefined;
}

/** `slices` by start. */
export function* bucketsOf(
  slices: readonly TimeSlice[],
  range: ReadRange,
): Generator<BucketRange, void, undefined> {
  const { start, end } = remaining(range);
  const oldestFirst = range.order === "OLDEST_FIRST";
  const ordered = oldestFirst ? slices : slices.toReversed();
  for (const slice of ordered) {
    const from = Math.max(start, slice.start);
    const to = Math.min(end, slice.end);
    if (from >= to) continue;
    const first = timeBucketOf(slice, from);
    const last = timeBucketOf(slice, to - 1);
    const step = oldestFirst ? 1 : -1;
    const stop = oldestFirst ? last + 1 : first - 1;
    for (let timeBucket = oldestFirst ? first : last; timeBucket !== stop; timeBucket += step) {
      const bucket = timeBucketRange(slice, timeBucket);
      const bucketFrom = Math.max(from, bucket.start);
      yield { slice, timeBucket, from: bucketFrom, to: Math.min(to, bucket.end) };
    }
  }
}

/**
 * The position that says "all of this bucket was examined". An empty id comes before every event of
 * its microsecond, so it is right in both directions: ascending, the events at `to` are still to
 * come; descending, those at `from` are done.
 */
export function endOfBucket(bucket: BucketRange, order: Order): Position {
  return { time: order === "OLDEST_FIRST" ? bucket.to : bucket.from, id: new Uint8Array() };
}

/** The time buckets of a slice behind one of them; `next` is the nearest. */
export interface BucketsLeft extends BucketSearch {
  readonly slice: TimeSlice;
  readonly next: number;
}

/** What an interval still touches in a bucket's slice behind it; undefined if nothing. */
export function bucketsLeft(
  { slice, timeBucket }: BucketRange,
  { start, end, order }: Pick<ReadRange, "start" | "end" | "order">,
): BucketsLeft | undefined {
  const oldestFirst = order === "OLDEST_FIRST";
  const first = oldestFirst ? timeBucket + 1 : timeBucketOf(slice, Math.max(start, slice.start));
  const last = oldestFirst ? timeBucketOf(slice, Math.min(end, slice.end) - 1) : timeBucket - 1;
  return first > last ? undefined : { slice, first, last, order, next: oldestFirst ? first : last };
}

/** The position before all events of a bucket, in the order; without one, behind the slice. */
export function positionBefore(
  slice: TimeSlice,
  timeBucket: number | undefined,
  order: Order,
): Position {
  const { start, end } =
    timeBucket === undefined
      ? { start: slice.end, end: slice.start }
      : timeBucketRange(slice, timeBucket);
  return { time: order === "OLDEST_FIRST" ? start : end, id: new Uint8Array() };
}

/** How many time buckets of a slice an interval touches. */
export function countBuckets(slice: TimeSlice, start: number, end: number): number {
  const from = Math.max(start, slice.start);
  const to = Math.min(end, slice.end);
  return from >= to ? 0 : timeBucketOf(slice, to - 1) - timeBucketOf(slice, from) + 1;
}

/** How many partitions of an id an interval touches in a slice; `steps` of the id, by time. */
export function countPartitions(
  slice: TimeSlice,
  start: number,
  end: number,
  steps: readonly IdStrategyStep[] | undefined,
): number {
  const { eventBuckets, secondsPerTimeBucket } = slice.timePartition;
  const bucketMicros = secondsPerTimeBucket * SECOND_MICROS;
  let before = eventBuckets;
  let partitions = countBuckets(slice, start, end) * eventBuckets;
  for (const step of steps ?? []) {
    // A step applies to the buckets that begin at or behind it, and adds its excess over the
    // previous one.
    const first = Math.max(0, Math.ceil((step.from - slice.start) / bucketMicros));
    const from = Math.max(start, slice.start + first * bucketMicros);
    const after = grownBuckets(slice, step.factor);
    partitions += countBuckets(slice, from, end) * (after - before);
    before = after;
  }
  return partitions;
}

/** The most event buckets that a time bucket of an interval can have; at least 1. */
export function eventBucketsMax(
  slices: readonly TimeSlice[],
  { start, end }: { readonly start: number; readonly end: number },
  steps: readonly IdStrategyStep[] | undefined,
): number {
  let most = 1;
  for (const slice of slices) {
    if (slice.end <= start || slice.start >= end) continue;
    const { eventBuckets } = slice.timePartition;
    most = Math.max(most, eventBuckets);
    if (steps === undefined) continue;
    // A later step can result in fewer, because it is halved more often.
    for (const { from, factor } of steps) {
      if (from < Math.min(end, slice.end)) {
        most = Math.max(most, grownBuckets(slice, factor));
      }
    }
  }
  return most;
}

function remaining(range: ReadRange): { start: number; end: number } {
  const { start, end, after } = range;
  if (after === undefined) return { start, end };
  if (range.order === "OLDEST_FIRST") return { start: Math.max(start, after.time), end };
  // Events of the position's own microsecond may still follow, unless its id is empty: then none is
  // smaller.
  return { start, end: Math.min(end, after.id.length === 0 ? after.time : after.time + 1) };
}
