/** One of the largest partitions of a slice, as a walk found it. */
import type { PartitionKey } from "./partition.ts";

export interface TopPartition extends Pick<
  PartitionKey,
  "seriesId" | "timeBucket" | "eventBucket"
> {
  /** Of the events' frames. */
  readonly bytes: number;
  readonly events: number;
  /** False: an estimate, or a lower bound that a read saw. */
  readonly exact: boolean;
}

/** The largest partitions of a slice, by bytes and by events, and what they are a part of. */
export interface TopPartitions {
  /** When the walk began, in microseconds. */
  readonly asOf: number;
  readonly endedAt: number;
  /** The walk reached the end of the slice. */
  readonly complete: boolean;
  /** Of the whole slice, for shares. */
  readonly totalBytes: number;
  readonly totalEvents: number;
  readonly partitions: readonly TopPartition[];
}
