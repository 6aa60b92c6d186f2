/** All strategies that are judged, in the order of the options. */
import { fillOf } from "../limits.ts";
import type { AdviseLimits } from "../limits.ts";
import { hasCounters } from "../roles.ts";
import type { Sample } from "../sample.ts";
import type { TableFacts } from "../table-facts.ts";
import { existingColumn } from "./existing-column.ts";
import { fillUpBucket } from "./fill-up-bucket.ts";
import { fixedHash } from "./fixed-hash.ts";
import { leave } from "./leave.ts";
import { perKeyVariable } from "./per-key-variable.ts";
import type { Strategy } from "./strategy.ts";
import { timeColumn } from "./time-column.ts";

export interface StrategyChoices {
  /** Widths of time columns. */
  readonly widthsMicros: readonly number[];
  /** Numbers of partitions of fixed hashes. */
  readonly hashes: readonly number[];
}

const MINUTE = 60_000_000;
const DAY = 1_440 * MINUTE;
export const DEFAULT_CHOICES: StrategyChoices = {
  widthsMicros: [MINUTE, 60 * MINUTE, DAY, 7 * DAY, 30 * DAY],
  hashes: [10, 100, 1_000],
};

export function strategiesFor(
  sample: Sample,
  facts: TableFacts,
  limits: AdviseLimits,
  { widthsMicros, hashes }: StrategyChoices,
): readonly Strategy[] {
  const { roles } = sample;
  return [
    leave(roles),
    // A column with one value splits nothing.
    ...roles.candidates
      .filter((_, at) => facts.distinct[at] !== 1)
      .map((column) => existingColumn(column, roles, facts)),
    ...(roles.time === undefined
      ? []
      : widthsMicros.map((width) => timeColumn(width, roles, facts))),
    // Nothing tells the bucket in which a counter is.
    ...(hasCounters(roles) ? [] : [fillUpBucket(bucketRows(facts, limits), roles, facts)]),
    ...hashes.map((count) => fixedHash(count, roles)),
    perKeyVariable(sample, facts, limits),
  ];
}

/** Half of the limit, in rows of the mean size: late counters and larger rows have room. */
function bucketRows({ rows, bytes }: TableFacts, limits: AdviseLimits): number {
  const perRow = fillOf(1, bytes / Math.max(1, rows), limits);
  const half = 0.5 / perRow;
  // One leading digit is enough, and easier to remember.
  const digit = 10 ** Math.floor(Math.log10(Math.max(1, half)) + 1e-9);
  return Math.max(1, Math.floor(half / digit + 1e-9) * digit);
}
