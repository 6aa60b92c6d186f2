/**
 * A difference that no compared read has found, but an offline comparison (`splits/verify`): it is
 * checked and acted on like that of a read (rule C14).
 */
import type { PartitionKey } from "../../model/partition.ts";
import type { RouteSegment } from "../../model/split.ts";
import { RangeSum } from "../../parts/range-sum.ts";
import type { Comparison } from "../serve/comparison.ts";

export interface ReportedDifference {
  readonly namespace: string;
  readonly partition: PartitionKey;
  /** Of the namespace's read mode, when the difference was found. */
  readonly round: number;
  readonly segment: RouteSegment;
  /** Event time in which the two differ, `from` included, `to` not. */
  readonly from: number;
  readonly to: number;
}

/** A recheck has its own sizes of runs. */
const RUN = { runBytesMax: 1, runEventsMax: 1 };

/** As if a read had found it. */
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
