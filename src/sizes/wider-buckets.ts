/**
 * The time buckets, wider than its own, that a slice could have had: widths that people recognise
 * and that divide it, and the slice itself. Pure.
 */
import type { TimePartition } from "../model/namespace-config.ts";
import { BUCKET_WIDTHS } from "../model/partition-widths.ts";

/** In seconds, from narrow to wide. */
export function widerBuckets({
  secondsPerTimeBucket,
  secondsPerTimeSlice,
}: TimePartition): number[] {
  const between = BUCKET_WIDTHS.filter(
    (width) =>
      width > secondsPerTimeBucket &&
      width < secondsPerTimeSlice &&
      width % secondsPerTimeBucket === 0 &&
      secondsPerTimeSlice % width === 0,
  );
  return secondsPerTimeSlice > secondsPerTimeBucket ? [...between, secondsPerTimeSlice] : between;
}
