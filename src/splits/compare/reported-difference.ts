/**
 * A difference found by an offline comparison (`splits/verify`) instead of a compared read. It is
 * rechecked and acted on like one found by a read (rule C14).
 */
import type { PartitionKey } from "../../model/partition.ts";
import type { RouteSegment } from "../../model/split.ts";
import { RangeSum } from "../../parts/range-sum.ts";
import type { Comparison } from "../serve/comparison.ts";

export interface ReportedDifference {
  readonly namespace: string;
  readonly partition: PartitionKey;
  /** The round of the namespace's read mode when the difference was found. */
  readonly round: number;
  readonly segment: RouteSegment;
  /** The event time in which the two sides differ, `from` included, `to` not. */
  readonly from: number;
  readonly to: number;
}

/** Unused: a recheck sets its own run sizes. */
const RUN = { runBytesMax: 1, runEventsMax: 1 };

/** The comparison that a read would have submitted. */
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
