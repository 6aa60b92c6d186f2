/**
 * A difference between a split and its original that an offline comparison has found. A recheck
 * decides what it means, as for one found by a read (rule C14).
 */
import type { PartitionKey } from "./partition.ts";
import type { RouteSegment } from "./split.ts";

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
