/**
 * Traffic as a formula: the histogram that a walk of a slice would find, without any events. Many
 * ids whose rates are spread log-normally, each writing at random moments, and a few outliers.
 */
import type { TimePartition } from "../../src/model/namespace-config.ts";
import { SECOND_MICROS } from "../../src/model/namespace-config.ts";
import { BUCKET_WIDTHS } from "../../src/model/partition-widths.ts";
import { sliceName } from "../../src/model/plan-slices.ts";
import { SizeHistogram } from "../../src/model/size-histogram.ts";
import type { SliceHistogram } from "../../src/model/slice-histogram.ts";

export interface Traffic {
  readonly ids: number;
  /** Of the id in the middle. */
  readonly bytesPerDay: number;
  /** The spread: the standard deviation of the logarithm of the rates. */
  readonly spread: number;
  readonly eventBytes: number;
  /** A share of the ids that writes this many times as much. */
  readonly outliers?: { readonly share: number; readonly factor: number };
}

/** Ids of one rate. */
export interface RateGroup {
  readonly ids: number;
  readonly bytesPerDay: number;
}

export interface SimulatedSlice {
  readonly start: number;
  readonly timePartition: TimePartition;
  /** How much is written, relative to the traffic's own level. */
  readonly level?: number;
  readonly epoch?: number;
}

const DAY_SECONDS = 86_400;
const GROUPS = 48;

export function rateGroups({ ids, bytesPerDay, spread, outliers }: Traffic): RateGroup[] {
  const groups = Array.from({ length: GROUPS }, (_, nth) => ({
    ids: ids / GROUPS,
    bytesPerDay: bytesPerDay * Math.exp(spread * normalQuantile((nth + 0.5) / GROUPS)),
  }));
  if (outliers !== undefined) {
    groups.push({ ids: ids * outliers.share, bytesPerDay: bytesPerDay * outliers.factor });
  }
  return groups;
}

export function simulatedHistogram(traffic: Traffic, slice: SimulatedSlice): SliceHistogram {
  const { start, timePartition, level = 1, epoch = 0 } = slice;
  const { secondsPerTimeSlice, secondsPerTimeBucket } = timePartition;
  const groups = rateGroups(traffic).map((group) => ({
    ...group,
    bytesPerDay: group.bytesPerDay * level,
  }));
  const at = (width: number): SizeHistogram =>
    sizesAt(groups, traffic.eventBytes, width, secondsPerTimeSlice / width);
  const own = at(secondsPerTimeBucket).distribution();
  const end = start + secondsPerTimeSlice * SECOND_MICROS;
  return {
    timeSlice: sliceName(start, secondsPerTimeSlice),
    start,
    end,
    timePartition,
    source: "WALK",
    asOf: end,
    endedAt: end,
    sealed: true,
    epoch,
    complete: true,
    sampleShare: 1,
    omissions: { notCounted: 0, estimated: 0, failed: 0 },
    partitions: { bytes: own, events: own },
    timeBuckets: { bytes: own, events: own },
    widened: BUCKET_WIDTHS.filter(
      (width) => width > secondsPerTimeBucket && secondsPerTimeSlice % width === 0,
    ).map((width) => ({ secondsPerTimeBucket: width, bytes: at(width).distribution() })),
  };
}

/** Events come at random: a bucket that has any holds at least one. */
function sizesAt(
  groups: readonly RateGroup[],
  eventBytes: number,
  seconds: number,
  buckets: number,
): SizeHistogram {
  const sizes = new SizeHistogram();
  for (const { ids, bytesPerDay } of groups) {
    const events = (bytesPerDay / eventBytes) * (seconds / DAY_SECONDS);
    const occupied = -Math.expm1(-events);
    if (occupied === 0) continue;
    sizes.add(Math.ceil((eventBytes * events) / occupied), ids * buckets * occupied);
  }
  return sizes;
}

/** Tukey's approximation, good to two digits. */
function normalQuantile(share: number): number {
  return 4.91 * (share ** 0.14 - (1 - share) ** 0.14);
}
