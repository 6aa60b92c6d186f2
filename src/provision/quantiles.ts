/** Quantiles of numbers, each of the same weight. Pure. */

import type { Band } from "../model/partition-plan.ts";

/** Interpolated between the two nearest; 0 if there are none. */
export function quantileOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const below = sorted[Math.floor(at)] ?? 0;
  const above = sorted[Math.ceil(at)] ?? below;
  return below + (above - below) * (at - Math.floor(at));
}

export function bandOf(values: readonly number[]): Band {
  return {
    low: quantileOf(values, 0.05),
    mid: quantileOf(values, 0.5),
    high: quantileOf(values, 0.95),
  };
}
