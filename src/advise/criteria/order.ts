/** A price: rows of several partitions have no common order unless the client merges them. */
import { percent, shortQuantity } from "../number-text.ts";
import { verdictOf, worseOf } from "./criterion.ts";
import type { Criterion } from "./criterion.ts";
import { callsOf } from "./over-shrinking.ts";

/** A client merges so many streams, at the cost of a page of each. */
const MERGED_MAX = 100;
/** Late rows that a reader can sort in memory. */
const LATE_MAX = 0.01;

export const order: Criterion = {
  name: "ORDER",
  title: "order",
  isPrice: true,
  judge(measured) {
    const { strategy, lateShare, queries } = measured;
    if (queries.every(({ query }) => query.order === "NONE")) {
      return { verdict: "UP", number: 0, why: "no query asks for an order" };
    }
    if (strategy.order === "IF_WRITTEN_IN_ORDER") {
      if (lateShare === undefined) {
        const why =
          "partitions follow each other in time only if no row is late (--written measures it)";
        return { verdict: "QUESTION", number: 1, why };
      }
      const why = `${percent(lateShare)} of the rows are late: they are in a partition of newer rows`;
      return { verdict: verdictOf(lateShare, 0, LATE_MAX), number: lateShare, why };
    }
    const { merged } = callsOf(measured);
    const why =
      merged <= 1
        ? "partitions follow each other in time"
        : `the client merges ${shortQuantity(merged, "partition")}, a page of each in memory`;
    return { verdict: worseOf("UP", verdictOf(merged, 1, MERGED_MAX)), number: merged, why };
  },
};
