/**
 * Partitions: what storage keeps together, and which one an event belongs to.
 *
 * The partition of an event is a pure function of the event and its slice's frozen strategy, so a
 * retry lands on the same key, and writer and reader agree by running the same code.
 */
import { hash32 } from "../lib/hash.ts";
import { SECOND_MICROS } from "./namespace-config.ts";
import type { TimeSlice } from "./time-slice.ts";

/** A slice as storage knows it: the namespace's internal id, so that a name used again means nothing. */
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

const EVENT_BUCKET_SEED = 0;

export function timeBucketOf(slice: TimeSlice, time: number): number {
  return Math.floor((time - slice.start) / bucketMicros(slice));
}

export function eventBucketOf(slice: TimeSlice, eventId: Uint8Array): number {
  const buckets = slice.timePartition.eventBuckets;
  return buckets === 1 ? 0 : hash32(eventId, EVENT_BUCKET_SEED) % buckets;
}

/** The event time a bucket of a slice covers, start included, end not. */
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
