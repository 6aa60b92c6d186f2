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
  const of = { partitions, fraction: world.percentiles };
  const [p50, p99] = [sizes.drawnPercentile(0.5, of), sizes.drawnPercentile(0.99, of)];
  // Of few partitions, a high percentile is the largest one.
  const atMost = (percentile: number, fewerThan: number): number =>
    partitions < fewerThan ? max : Math.min(percentile, max);
  return {
    p50: atMost(p50, 1.5) * world.eventBytes,
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

interface SizePoint {
  readonly count: number;
  /** Of the partitions, in proportion. */
  readonly weight: number;
  /** Partitions of one mean. */
  readonly kind: number;
}

/** Counts of events with the number of partitions that have them. */
class WeightedSizes {
  #points: SizePoint[] = [];
  /** The weights of the points, by kind. */
  readonly #kinds: number[] = [];
  #sorted = false;

  /** Partitions whose counts are Poisson distributed; those without an event do not exist. */
  addCounts(mean: number, partitions: number): void {
    const kind = this.#kinds.push(0) - 1;
    const add = (count: number, weight: number): void => {
      this.#points.push({ count, weight, kind });
      this.#kinds[kind] = (this.#kinds[kind] as number) + weight;
    };
    this.#sorted = false;
    if (mean > LISTED_MEAN_MAX) {
      for (const { share, z } of STEPS) add(Math.max(1, nearlyNormal(mean, z)), partitions * share);
      return;
    }
    let probability = Math.exp(-mean);
    const last = Math.ceil(mean + 6 * Math.sqrt(mean) + 3);
    for (let count = 1; count <= last; count++) {
      probability *= mean / count;
      add(count, partitions * probability);
    }
  }

  /**
   * The count of that partition of so many which is this percentile of them: of two, p50 is the
   * smaller one. Few partitions scatter, by the luck of the world.
   */
  drawnPercentile(
    share: number,
    { partitions, fraction }: { readonly partitions: number; readonly fraction: number },
  ): number {
    const count = Math.max(1, Math.round(partitions));
    const middle = (Math.ceil(share * count) - 0.5) / count;
    const spread = Math.sqrt(this.#varianceAt(this.#percentile(middle)) / count);
    const drawn = middle + spread * normalQuantile(fraction);
    return this.#percentile(Math.max(0.5 / count, Math.min(1 - 0.5 / count, drawn)));
  }

  /** The count that this share of the partitions does not exceed. */
  #percentile(share: number): number {
    if (!this.#sorted) this.#points = this.#points.sort((a, b) => a.count - b.count);
    this.#sorted = true;
    const whole = this.#whole() * share;
    let seen = 0;
    for (const { count, weight } of this.#points) {
      seen += weight;
      if (seen >= whole) return count;
    }
    return this.#points.at(-1)?.count ?? 0;
  }

  /** Of whether one partition exceeds the count: only those of one mean are alike. */
  #varianceAt(count: number): number {
    const below = this.#kinds.map(() => 0);
    for (const point of this.#points) {
      if (point.count <= count) below[point.kind] = (below[point.kind] as number) + point.weight;
    }
    const sum = this.#kinds.reduce((before, whole, kind) => {
      const under = below[kind] as number;
      return whole === 0 ? before : before + (under * (whole - under)) / whole;
    }, 0);
    return Math.max(0, sum) / this.#whole();
  }

  #whole(): number {
    return this.#kinds.reduce((sum, weight) => sum + weight, 0);
  }
}
