/**
 * Draws values of an estimate. Pure: the caller passes the fractions.
 *
 * The distribution has the estimate's mid as its median and honours low and high exactly: each side
 * of the median has its own spread. Sides are spread by factors (log-normal) where all values are
 * above 0, and by amounts (normal) otherwise. (The public planner fits a beta distribution with
 * two parameters, which cannot honour three numbers: of 1,000, 10,000 and 100,000 with confidence
 * 0.98 it reaches 33,000.)
 */
import { hash32 } from "../lib/hash.ts";
import { SeededRandom } from "../lib/seeded-random.ts";
import { isCertain } from "./check-workload.ts";
import { normalQuantile } from "./normal.ts";
import type { Estimate } from "./workload.ts";

/** Values further out than this are drawn at this distance, so that every value has a bound. */
const Z_MAX = 3;

/** The value below which the truth lies with probability `fraction`. */
export function estimateQuantile(estimate: Estimate, fraction: number): number {
  if (isCertain(estimate)) return estimate.mid;
  const { low, mid, high, confidence } = estimate;
  const z = normalQuantile(fraction) / normalQuantile((1 + confidence) / 2);
  const bounded = Math.max(-Z_MAX, Math.min(Z_MAX, z));
  const edge = bounded < 0 ? low : high;
  const distance = Math.abs(bounded);
  if (low <= 0) return mid + (edge - mid) * distance;
  return mid * (edge / mid) ** distance;
}

/**
 * `count` fractions of one input, one in each of `count` equal parts of 0 to 1, in random order: far
 * fewer worlds cover the input's range than with independent draws. The input's name is a part of
 * the seed, so that another input does not change this one's.
 */
export function fractionsOf(name: string, seed: number, count: number): Float64Array {
  const random = new SeededRandom(hash32(Buffer.from(name), seed));
  const fractions = Float64Array.from({ length: count }, (_, nth) => {
    return (nth + random.fraction()) / count;
  });
  for (let last = count - 1; last > 0; last--) {
    const other = random.below(last + 1);
    const kept = fractions[last] as number;
    fractions[last] = fractions[other] as number;
    fractions[other] = kept;
  }
  return fractions;
}
