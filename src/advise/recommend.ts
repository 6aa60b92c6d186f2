/**
 * Recommends one strategy. Pure.
 *
 * A thumb down of a criterion counts most, because it may break the table; then question marks; then
 * the prices, the effort to run it, and how many calls the queries need.
 */
import { VERDICTS } from "./criteria/criterion.ts";
import type { Judgement, Verdict } from "./criteria/criterion.ts";
import { CRITERION_TABLE } from "./criteria/table.ts";
import type { Measured } from "./measure.ts";
import type { ColumnRoles } from "./roles.ts";
import { OPTIONS } from "./strategies/strategy.ts";
import type { StrategyOption } from "./strategies/strategy.ts";
import { callsOf } from "./criteria/over-shrinking.ts";
import { shortQuantity } from "./number-text.ts";

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

/** If so many rows are deleted one by one, each delete must find its row: no price, but a criterion. */
const DELETED_MANY = 0.1;

export function scoreOf(
  measured: Measured,
  judgements: readonly Judgement[],
  { deletes }: ColumnRoles,
): number {
  const isFound = deletes.ttlMicros === undefined && deletes.share >= DELETED_MANY;
  const { calls, needed } = callsOf(measured);
  const effort =
    EFFORT_POINTS[measured.strategy.option] +
    CALLS_POINTS * Math.log10(Math.max(1, calls / Math.max(needed, 1e-9)));
  const points = judgements.map(({ criterion, verdict }) =>
    PRICES.has(criterion) && !(isFound && criterion === "FIND_ONE")
      ? PRICE_POINTS[verdict]
      : CRITERION_POINTS[verdict],
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

/** The worst of its verdicts that the recommended one does not share. */
export function whyNot({ measured, judgements }: Judged, recommended: Judged): string {
  const worse = judgements.filter(({ verdict }, at) =>
    isWorse(verdict, recommended.judgements[at]?.verdict ?? "UP"),
  );
  const worst = worse.find(({ verdict }) => verdict === "DOWN") ?? worse[0];
  if (worst !== undefined) return worst.why;
  const asked = callsOf(measured).partitions;
  return asked > callsOf(recommended.measured).partitions
    ? `as good, but a query asks ${shortQuantity(asked, "partition")}`
    : "as good, but more to maintain";
}

function isWorse(verdict: Verdict, than: Verdict): boolean {
  return VERDICTS.indexOf(verdict) > VERDICTS.indexOf(than);
}

function optionOf({ measured }: Judged): number {
  return OPTIONS.indexOf(measured.strategy.option);
}
