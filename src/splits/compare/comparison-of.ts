/** What a read would have submitted for a difference that an offline comparison has found. */
import type { ReportedDifference } from "../../model/reported-difference.ts";
import { RangeSum } from "../../parts/range-sum.ts";
import type { Comparison } from "../serve/comparison.ts";

/** Unused: a recheck sets its own run sizes. */
const RUN = { runBytesMax: 1, runEventsMax: 1 };

export function comparisonOf(reported: ReportedDifference): Comparison {
  const { namespace, partition, round, segment, from, to } = reported;
  const range = { from, to, order: "NEWEST_FIRST", after: undefined, ...RUN } as const;
  const routeRange = { from, to, segment, readFrom: "SPLIT", compare: "DIGEST" } as const;
  const sum = new RangeSum("SIZES").taken();
  return {
    namespace,
    partition,
    round,
    read: { routeRange, segment, range, last: undefined, sum },
  };
}
