/**
 * What the readers of a slice meet, as a formula.
 *
 * Each id is read 200 times a day, each read over the last 24 h. A read touches a wide partition if
 * the partition is over the limit and not split. A wide partition is found by its first read and
 * split within a minute. An id that is wide in two buckets gets more event buckets from the next
 * bucket on, as `splits/plan/id-growth.ts` decides.
 */
import type { TimePartition } from "../../src/model/namespace-config.ts";
import { partitionsPerRead } from "../../src/model/read-amplification.ts";
import { partitionsPerDay } from "../../src/tune/predict-sizes.ts";
import type { RateGroup } from "../../tests/support/simulated-traffic.ts";

const DAY_SECONDS = 86_400;
const READS_PER_DAY = 200;
const SPLIT_DAYS = 60 / DAY_SECONDS;
const BUCKETS_UNTIL_GROWTH = 2;
const EVENT_BUCKETS_MAX = 1_024;

export interface ReadsMet {
  readonly reads: number;
  readonly wide: number;
  readonly wideWithSplits: number;
  readonly partitions: number;
}

/** How many times more event buckets each group of ids has; the model raises them. */
export type GrownIds = Map<number, number>;

export function readsOf(
  groups: readonly RateGroup[],
  partitioning: TimePartition,
  bytesMax: number,
  grown: GrownIds,
): ReadsMet {
  const { secondsPerTimeSlice, secondsPerTimeBucket, eventBuckets } = partitioning;
  const days = secondsPerTimeSlice / DAY_SECONDS;
  const perDay = partitionsPerDay(partitioning);
  const met = { reads: 0, wide: 0, wideWithSplits: 0, partitions: 0 };
  for (const [nth, { ids, bytesPerDay }] of groups.entries()) {
    const reads = ids * READS_PER_DAY * days;
    const bytes = (bytesPerDay * secondsPerTimeBucket) / DAY_SECONDS / eventBuckets;
    met.reads += reads;
    met.partitions += reads * partitionsPerRead(DAY_SECONDS, partitioning);
    if (bytes > bytesMax) met.wide += reads;
    const factor = grown.get(nth) ?? 1;
    if (bytes / factor <= bytesMax) continue;
    const appear = perDay * factor * (1 + READS_PER_DAY * SPLIT_DAYS);
    const untilGrowth = (BUCKETS_UNTIL_GROWTH * secondsPerTimeBucket) / secondsPerTimeSlice;
    const share = Math.min(1, untilGrowth) * Math.min(1, appear / READS_PER_DAY);
    met.wideWithSplits += reads * share;
    grown.set(nth, grownFactor(bytes / bytesMax, eventBuckets));
  }
  return met;
}

/** The next power of two, as far as one time bucket may have event buckets. */
function grownFactor(ratio: number, eventBuckets: number): number {
  const wanted = 2 ** Math.ceil(Math.log2(ratio * 1.25));
  return Math.max(1, Math.min(wanted, EVENT_BUCKETS_MAX / eventBuckets));
}
