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
/** The middles of nine equal shares of a normal distribution. */
const STEPS: readonly number[] = Array.from({ length: 9 }, (_, n) => normalQuantile((n + 0.5) / 9));

export function predictSizes(
  world: World,
  timePartition: TimePartition,
  limits: NamespaceConfig["widePartition"],
): PredictedSizes {
  const { secondsPerTimeSlice, secondsPerTimeBucket: width, eventBuckets } = timePartition;
  const { idShare, relativeRate } = world.groups;
  const levels = rateLevels(world.burstiness, width);
  const sizes = new WeightedSizes();
  let [max, idsBeyond, readsBeyond, bytesBeyond] = [0, 0, 0, 0];
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
      max = Math.max(max, largestCount(count, Math.max(1, share * world.ids) * buckets));
      if (beyondLimit(count / -Math.expm1(-count), world.eventBytes, limits) <= 1) continue;
      isBeyond = true;
      readsBeyond += readShare * timeShare * factor;
      bytesBeyond += share * relative * timeShare * factor;
    }
    if (isBeyond) idsBeyond += share;
  }
  return {
    p50: sizes.percentile(0.5) * world.eventBytes,
    p99: sizes.percentile(0.99) * world.eventBytes,
    max: max * world.eventBytes,
    idsBeyondLimit: Math.min(1, idsBeyond),
    readsBeyondLimit: Math.min(1, readsBeyond),
    bytesBeyondLimit: Math.min(1, bytesBeyond),
  };
}

/** The largest of this many Poisson counts: the count that one of them is expected to exceed. */
function largestCount(mean: number, draws: number): number {
  if (mean > LISTED_MEAN_MAX) {
    const z = Math.max(0, normalQuantile(1 - 0.5 / draws));
    // With the first correction for the skew of a Poisson distribution.
    return mean + z * Math.sqrt(mean) + (z * z - 1) / 6;
  }
  let probability = Math.exp(-mean);
  let above = 1 - probability;
  let count = 0;
  while (above * draws > 0.7 && count < 200) {
    count++;
    probability *= mean / count;
    above -= probability;
  }
  return Math.max(1, count);
}

/** Counts of events with the number of partitions that have them. */
class WeightedSizes {
  readonly #points: { count: number; weight: number }[] = [];

  /** Partitions whose counts are Poisson distributed; those without an event do not exist. */
  addCounts(mean: number, partitions: number): void {
    if (mean > LISTED_MEAN_MAX) {
      const weight = partitions / STEPS.length;
      for (const z of STEPS) {
        this.#points.push({ count: Math.max(1, mean + z * Math.sqrt(mean)), weight });
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

  percentile(share: number): number {
    const sorted = this.#points.sort((a, b) => a.count - b.count);
    const whole = sorted.reduce((sum, { weight }) => sum + weight, 0);
    let seen = 0;
    for (const { count, weight } of sorted) {
      seen += weight;
      if (seen >= whole * share) return count;
    }
    return sorted.at(-1)?.count ?? 0;
  }
}
