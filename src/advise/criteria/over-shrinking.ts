/** Over-shrinking: one partition with 10,000 rows is better to read than 10,000 with one row. */
import type { Measured } from "../measure.ts";
import { short, shortQuantity } from "../number-text.ts";
import { verdictOf } from "./criterion.ts";
import type { Criterion } from "./criterion.ts";

/** A client asks so many partitions at once without harm. */
const TIMES_UP = 10;
/** With more, one slow replica of some partition slows down every query. */
const TIMES_QUESTION = 1_000;

/** A smaller difference is not worth a word. */
const LIKE_NEEDED = 1.05;

export const overShrinking: Criterion = {
  name: "OVER_SHRINKING",
  title: "over-shrinking",
  isPrice: false,
  judge(measured) {
    const { calls, needed, partitions } = callsOf(measured);
    const number = needed === 0 ? 1 : calls / needed;
    const verdict = verdictOf(number, TIMES_UP, TIMES_QUESTION);
    const why =
      `a query asks ${shortQuantity(partitions, "partition")} in ${shortQuantity(calls, "call")}` +
      (number < LIKE_NEEDED
        ? ", no more than its rows need"
        : `; if its rows were in one partition, ${short(needed)} would do`);
    return { verdict, number, why };
  },
};

/** Means over all queries that the table serves, by their frequency. */
export function callsOf({ queries }: Pick<Measured, "queries">): {
  readonly calls: number;
  readonly needed: number;
  readonly partitions: number;
  readonly merged: number;
} {
  const served = queries.filter((each) => each.served);
  const whole = served.reduce((sum, { query }) => sum + query.frequency, 0);
  const mean = (of: (each: Measured["queries"][number]) => number): number =>
    served.reduce((sum, each) => sum + each.query.frequency * of(each), 0) / Math.max(whole, 1e-9);
  return {
    calls: mean((each) => each.calls),
    needed: mean((each) => each.needed),
    partitions: mean((each) => each.partitions),
    merged: mean((each) => each.merged),
  };
}
