/**
 * Decides how long to wait before the next attempt: longer each time up to a bound, with
 * randomness, so that several processes do not repeat at the same moment.
 */
import type { Random } from "./random.ts";

export interface BackOff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * The wait after the `failures`th failure in a row: between half of a value that doubles each time
 * and all of it.
 */
export function backOffMs(failures: number, backOff: BackOff, random: Random): number {
  const wholeMs = Math.min(backOff.maxMs, backOff.firstMs * 2 ** (failures - 1));
  return (wholeMs / 2) * (1 + random.fraction());
}
