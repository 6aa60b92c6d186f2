/**
 * How many partitions a read touches. Pure.
 *
 * A read asks every event bucket of every time bucket that it touches, with or without events in
 * it: only the read itself finds out. It touches those of its interval, or fewer where it ends at a
 * number of events.
 */
import type { TimePartition } from "./namespace-config.ts";

/**
 * The mean over all starts of the interval: one that begins at any instant touches one time bucket
 * more than it is buckets long.
 */
export function partitionsPerRead(
  readSeconds: number,
  { secondsPerTimeBucket, eventBuckets }: Omit<TimePartition, "secondsPerTimeSlice">,
): number {
  return (readSeconds / secondsPerTimeBucket + 1) * eventBuckets;
}
