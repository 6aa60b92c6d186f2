/** How a namespace divides its events, in words. */
import type { TimePartition, TimeSlice } from "../../../client/connect.ts";
import { durationText, nounText } from "../../kit/format.ts";

/** "slices of 1 d, buckets of 1 h, 4 event buckets". */
export function partitioningText({
  secondsPerTimeSlice,
  secondsPerTimeBucket,
  eventBuckets,
}: TimePartition): string {
  return (
    `slices of ${durationText(secondsPerTimeSlice * 1_000)}, ` +
    `buckets of ${durationText(secondsPerTimeBucket * 1_000)}, ` +
    nounText(eventBuckets, "event bucket")
  );
}

/** What `shortPartitioning` says, as the head of a column. */
export const PARTITIONING_HEAD = "Slice / bucket × n";

/** "1 d / 1 h × 4", for tables. */
export function shortPartitioning({
  secondsPerTimeSlice,
  secondsPerTimeBucket,
  eventBuckets,
}: TimePartition): string {
  const [slice, bucket] = [secondsPerTimeSlice, secondsPerTimeBucket].map((seconds) =>
    durationText(seconds * 1_000),
  );
  return `${slice} / ${bucket} × ${eventBuckets}`;
}

export function samePartitioning(a: TimePartition, b: TimePartition): boolean {
  return (
    a.secondsPerTimeSlice === b.secondsPerTimeSlice &&
    a.secondsPerTimeBucket === b.secondsPerTimeBucket &&
    a.eventBuckets === b.eventBuckets
  );
}

/** The slices whose partitioning differs from that of the slice before, oldest first. */
export function changedSlices(
  slices: readonly Pick<TimeSlice, "name" | "timePartition">[],
): ReadonlySet<string> {
  const changed = new Set<string>();
  for (const [index, slice] of slices.entries()) {
    const before = slices[index - 1];
    if (before !== undefined && !samePartitioning(before.timePartition, slice.timePartition)) {
      changed.add(slice.name);
    }
  }
  return changed;
}
