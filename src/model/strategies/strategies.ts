/**
 * The strategies. A new one is a row here and a file beside this one: see docs/specs/strategies.md.
 */
import { eventBuckets } from "./event-buckets.ts";
import { hash } from "./hash.ts";
import type { Strategy } from "./strategy.ts";
import { timeBuckets } from "./time-buckets.ts";

/** By the name in records, configuration and evidence. Names are stored, so they never change. */
export const STRATEGIES = {
  EVENT_BUCKETS: eventBuckets,
  TIME_BUCKETS: timeBuckets,
  HASH: hash,
} as const satisfies Readonly<Record<string, Strategy>>;

export type SplitStrategyName = keyof typeof STRATEGIES;

// The keys of an object literal are its type's keys.
export const SPLIT_STRATEGIES = Object.keys(STRATEGIES) as readonly SplitStrategyName[];

/** The strategy that divides a segment. */
export function strategyOf(segment: { readonly strategy: SplitStrategyName }): Strategy {
  return STRATEGIES[segment.strategy];
}
