/** What a read submits for comparison with the other side. */
import type { PartitionKey } from "../../model/partition.ts";
import type { RouteSegment } from "../../model/split.ts";
import type { SumTaken } from "../../parts/range-sum.ts";
import type { ScanRange } from "../../ports/event-store.ts";
import type { Position } from "../../wire/frames.ts";
import type { RouteRange } from "./plan-route.ts";

/** What was read of one range. */
export interface ReadRange {
  readonly routeRange: RouteRange;
  readonly segment: RouteSegment;
  readonly range: ScanRange;
  /** The last position that was read; undefined: the range was read to its end. */
  readonly last: Position | undefined;
  readonly sum: SumTaken;
}

/** The partition, and the round of the namespace's read mode, of one compared range. */
export interface Comparison {
  readonly namespace: string;
  readonly partition: PartitionKey;
  readonly round: number;
  readonly read: ReadRange;
}
