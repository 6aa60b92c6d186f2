/** How long to wait before the next attempt: longer each time up to a bound, and never in step with others. */
import type { Random } from "./random.ts";

export interface BackOff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** After the `failures`th failure in a row: at least half of a wait that doubles each time. */
export function backOffMs(failures: number, backOff: BackOff, random: Random): number {
  const wholeMs = Math.min(backOff.maxMs, backOff.firstMs * 2 ** (failures - 1));
  return (wholeMs / 2) * (1 + random.fraction());
}
