/**
 * Recommends one strategy. Pure.
 *
 * A thumb down of a criterion counts most, because it may break the table; then question marks; then
 * the prices, the effort to run it, and how many calls the queries need.
 */
import type { Judgement, Verdict } from "./criteria/criterion.ts";
import { CRITERION_TABLE } from "./criteria/table.ts";
import type { Measured } from "./measure.ts";
import { OPTIONS } from "./strategies/strategy.ts";
import type { StrategyOption } from "./strategies/strategy.ts";
import { callsOf } from "./criteria/over-shrinking.ts";

export interface Judged {
  readonly measured: Measured;
  /** In the order of the criteria. */
  readonly judgements: readonly Judgement[];
  /** Less is better. */
  readonly score: number;
}

/** Two question marks weigh less than one thumb down; all prices together less than one. */
const CRITERION_POINTS: Readonly<Record<Verdict, number>> = { UP: 0, QUESTION: 10, DOWN: 30 };
const PRICE_POINTS: Readonly<Record<Verdict, number>> = { UP: 0, QUESTION: 1, DOWN: 3 };
/** What it costs to run: a second table and its logic, or all parts of every key. */
const EFFORT_POINTS: Readonly<Record<StrategyOption, number>> = {
  LEAVE: 0,
  TIME_COLUMN: 0.5,
  EXISTING_COLUMN: 0.5,
  FIXED_HASH: 1,
  PER_KEY_VARIABLE: 2,
  FILL_UP_BUCKET: 2,
};

const PRICES = new Set(CRITERION_TABLE.filter(({ isPrice }) => isPrice).map(({ name }) => name));

/** For each tenfold of calls: between two question marks the one with fewer calls is better. */
const CALLS_POINTS = 1.5;

export function scoreOf(measured: Measured, judgements: readonly Judgement[]): number {
  const { calls, needed } = callsOf(measured);
  const effort =
    EFFORT_POINTS[measured.strategy.option] +
    CALLS_POINTS * Math.log10(Math.max(1, calls / Math.max(needed, 1e-9)));
  const points = judgements.map(({ criterion, verdict }) =>
    PRICES.has(criterion) ? PRICE_POINTS[verdict] : CRITERION_POINTS[verdict],
  );
  return points.reduce((sum, each) => sum + each, effort);
}

/** The best first. */
export function ranked(all: readonly Judged[]): readonly Judged[] {
  return all.toSorted(
    (a, b) =>
      a.score - b.score ||
      callsOf(a.measured).calls - callsOf(b.measured).calls ||
      optionOf(a) - optionOf(b) ||
      a.measured.sizes.partitions - b.measured.sizes.partitions,
  );
}

function optionOf({ measured }: Judged): number {
  return OPTIONS.indexOf(measured.strategy.option);
}
