/** What a read hands over to be compared with the other side. */
import type { PartitionKey } from "../../model/partition.ts";
import type { RouteSegment } from "../../model/split.ts";
import type { SumTaken } from "../../parts/range-sum.ts";
import type { ScanRange } from "../../ports/event-store.ts";
import type { Position } from "../../wire/frames.ts";
import type { RouteRange } from "./plan-route.ts";

/** What was read of one range, to be compared with the other side. */
export interface ReadRange {
  readonly routeRange: RouteRange;
  readonly segment: RouteSegment;
  readonly range: ScanRange;
  /** Up to here it was read; undefined: to the end. */
  readonly last: Position | undefined;
  readonly sum: SumTaken;
}

/** Of which partition, under which round of the namespace's read mode. */
export interface Comparison {
  readonly namespace: string;
  readonly partition: PartitionKey;
  readonly round: number;
  readonly read: ReadRange;
}
