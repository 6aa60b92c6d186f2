/**
 * Partitions, the units of storage, and which one an event belongs to.
 *
 * The partition of an event is a pure function of the event and its slice's frozen strategy. So a
 * retry has the same key, and writer and reader agree because they run the same code.
 */
import { hash32 } from "../lib/hash.ts";
import { SECOND_MICROS } from "./namespace-config.ts";
import type { IdStrategyStep } from "./read-mode.ts";
import type { TimeSlice } from "./time-slice.ts";

/**
 * A slice as storage addresses it: by the namespace's internal id, so that a reused name causes no
 * confusion.
 */
export interface SliceRef {
  readonly namespaceId: string;
  readonly slice: string;
}

export interface PartitionKey extends SliceRef {
  readonly seriesId: string;
  /** Counted from the slice's start. */
  readonly timeBucket: number;
  readonly eventBucket: number;
}

/** A partition as the key of a map. Only the id can contain a slash, so it comes last. */
export function partitionText(partition: PartitionKey): string {
  const { namespaceId, slice, timeBucket, eventBucket, seriesId } = partition;
  return `${namespaceId}/${slice}/${timeBucket}/${eventBucket}/${seriesId}`;
}

const EVENT_BUCKET_SEED = 0;

/** For one time bucket of one id: every read of it asks all of them. */
export const EVENT_BUCKETS_MAX = 1_024;

export function timeBucketOf(slice: TimeSlice, time: number): number {
  return Math.floor((time - slice.start) / bucketMicros(slice));
}

/** `buckets`: see `eventBucketsOf`. */
export function eventBucketOf(buckets: number, eventId: Uint8Array): number {
  return buckets === 1 ? 0 : hash32(eventId, EVENT_BUCKET_SEED) % buckets;
}

/**
 * How many event buckets a time bucket of a series has: the slice's number, times the factor the id
 * got before that bucket began (rule C15).
 */
export function eventBucketsOf(
  slice: TimeSlice,
  timeBucket: number,
  steps: readonly IdStrategyStep[] | undefined,
): number {
  if (steps === undefined) return slice.timePartition.eventBuckets;
  const { start } = timeBucketRange(slice, timeBucket);
  let factor = 1;
  for (const step of steps) if (step.from <= start) factor = step.factor;
  return grownBuckets(slice, factor);
}

/** What decides how many event buckets an id with a factor has. */
export type GrowingSlice = Pick<TimeSlice, "timePartition" | "factorBase">;

/** The number that factors multiply: the same in every slice of a namespace. */
export function factorBaseOf({ factorBase, timePartition }: GrowingSlice): number {
  return factorBase ?? timePartition.eventBuckets;
}

/**
 * The event buckets of an id with a factor, which is halved until a read may ask that many: a slice
 * can have many event buckets of its own. At least those of every id, and a multiple of them. All
 * numbers are frozen, so every caller gets the same result.
 */
export function grownBuckets(slice: GrowingSlice, factor: number): number {
  const { eventBuckets } = slice.timePartition;
  if (factor === 1) return eventBuckets;
  const base = factorBaseOf(slice);
  let allowed = factor;
  while (allowed > 1 && base * allowed > EVENT_BUCKETS_MAX) allowed = Math.ceil(allowed / 2);
  const wanted = Math.max(eventBuckets, base * allowed);
  const multiple = Math.ceil(wanted / eventBuckets) * eventBuckets;
  return multiple <= EVENT_BUCKETS_MAX ? multiple : multiple - eventBuckets;
}

/** The event time of a bucket of a slice: the start is included, the end is not. */
export function timeBucketRange(
  slice: TimeSlice,
  timeBucket: number,
): { start: number; end: number } {
  const width = bucketMicros(slice);
  const start = slice.start + timeBucket * width;
  return { start, end: Math.min(start + width, slice.end) };
}

function bucketMicros(slice: TimeSlice): number {
  return slice.timePartition.secondsPerTimeBucket * SECOND_MICROS;
}
