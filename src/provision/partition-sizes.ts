/**
 * Predicts how large the partitions of a slice are in one world. Pure.
 *
 * Events arrive independently at an id's rate, so that the count of a partition is Poisson
 * distributed. Only partitions with an event exist. Sizes are weighted by their number.
 */
import type { NamespaceConfig, TimePartition } from "../model/namespace-config.ts";
import { rateLevels } from "./bursts.ts";
import { normalQuantile } from "./normal.ts";
import { beyondLimit, readShareOf } from "./partition-cost.ts";
import type { World } from "./worlds.ts";

export interface PredictedSizes {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly idsBeyondLimit: number;
  readonly readsBeyondLimit: number;
  readonly bytesBeyondLimit: number;
}

const DAY_SECONDS = 86_400;
/** Up to this mean every count is listed; above it the distribution is nearly normal. */
const LISTED_MEAN_MAX = 12;
/** Shares of a nearly normal distribution, finer at the top: each is represented by its middle. */
const SHARE_ENDS = [
  0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 1,
] as const;
const STEPS = SHARE_ENDS.map((end, nth) => {
  const start = SHARE_ENDS[nth - 1] ?? 0;
  return { share: end - start, z: normalQuantile((start + end) / 2) };
});

export function predictSizes(
  world: World,
  timePartition: TimePartition,
  limits: NamespaceConfig["widePartition"],
): PredictedSizes {
  const { secondsPerTimeSlice, secondsPerTimeBucket: width, eventBuckets } = timePartition;
  const { idShare, relativeRate } = world.groups;
  const levels = rateLevels(world.burstiness, width);
  const sizes = new WeightedSizes();
  let [max, partitions, idsBeyond, readsBeyond, bytesBeyond] = [0, 0, 0, 0, 0];
  for (let group = 0; group < idShare.length; group++) {
    const share = idShare[group] as number;
    const relative = relativeRate[group] as number;
    const mean = (relative * world.eventsPerDay * width) / DAY_SECONDS / eventBuckets;
    const readShare = readShareOf(share, share * relative);
    let isBeyond = false;
    for (const { timeShare, factor } of levels) {
      const count = mean * factor;
      if (count <= 0) continue;
      sizes.addCounts(count, share * timeShare);
      const buckets = Math.max(1, (secondsPerTimeSlice / width) * timeShare) * eventBuckets;
      const draws = Math.max(1, share * world.ids) * buckets;
      max = Math.max(max, largestCount(count, draws, world.largest));
      partitions += draws * -Math.expm1(-count);
      if (beyondLimit(count / -Math.expm1(-count), world.eventBytes, limits) <= 1) continue;
      isBeyond = true;
      readsBeyond += readShare * timeShare * factor;
      bytesBeyond += share * relative * timeShare * factor;
    }
    if (isBeyond) idsBeyond += share;
  }
  const [p50 = 0, p99 = 0] = sizes.percentiles([0.5, 0.99]);
  // Of few partitions, a high percentile is the largest one.
  const atMost = (percentile: number, fewerThan: number): number =>
    partitions < fewerThan ? max : Math.min(percentile, max);
  return {
    p50: atMost(p50, 2) * world.eventBytes,
    p99: atMost(p99, 100) * world.eventBytes,
    max: max * world.eventBytes,
    idsBeyondLimit: Math.min(1, idsBeyond),
    readsBeyondLimit: Math.min(1, readsBeyond),
    bytesBeyondLimit: Math.min(1, bytesBeyond),
  };
}

/** A quantile of the largest of this many Poisson counts. */
function largestCount(mean: number, draws: number, fraction: number): number {
  // All draws are at most x with this probability where each exceeds x with this one.
  const exceeds = -Math.log(fraction) / draws;
  if (mean > LISTED_MEAN_MAX) {
    const z = normalQuantile(Math.max(0.001, 1 - exceeds));
    return nearlyNormal(mean, z);
  }
  let probability = Math.exp(-mean);
  let above = 1 - probability;
  let count = 0;
  while (above > exceeds && count < 200) {
    count++;
    probability *= mean / count;
    above -= probability;
  }
  return Math.max(1, count);
}

/** A quantile of a Poisson distribution, with the first correction for its skew. */
function nearlyNormal(mean: number, z: number): number {
  return mean + z * Math.sqrt(mean) + (z * z - 1) / 6;
}

/** Counts of events with the number of partitions that have them. */
class WeightedSizes {
  readonly #points: { count: number; weight: number }[] = [];

  /** Partitions whose counts are Poisson distributed; those without an event do not exist. */
  addCounts(mean: number, partitions: number): void {
    if (mean > LISTED_MEAN_MAX) {
      for (const { share, z } of STEPS) {
        const count = Math.max(1, nearlyNormal(mean, z));
        this.#points.push({ count, weight: partitions * share });
      }
      return;
    }
    let probability = Math.exp(-mean);
    const last = Math.ceil(mean + 6 * Math.sqrt(mean) + 3);
    for (let count = 1; count <= last; count++) {
      probability *= mean / count;
      this.#points.push({ count, weight: partitions * probability });
    }
  }

  /** The counts that these shares of the partitions do not exceed; `shares` ascend. */
  percentiles(shares: readonly number[]): number[] {
    const sorted = this.#points.sort((a, b) => a.count - b.count);
    const whole = sorted.reduce((sum, { weight }) => sum + weight, 0);
    const last = sorted.at(-1)?.count ?? 0;
    let [seen, at] = [0, 0];
    return shares.map((share) => {
      while (at < sorted.length - 1 && seen + (sorted[at]?.weight ?? 0) < whole * share) {
        seen += sorted[at++]?.weight ?? 0;
      }
      return sorted[at]?.count ?? last;
    });
  }
}
