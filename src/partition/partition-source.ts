/** One partition, opened for reading: wherever its events come from, they come in order, as runs. */
import type { NamespaceView } from "../model/namespace.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { ScanRange } from "../ports/event-store.ts";
import type { Run } from "../wire/frames.ts";

/**
 * FILTER_MISS: the slice's filter says that it is not split. NOT_SPLIT: nothing of it is. HELD: split, but
 * not served by decision (mode, kill switch, first comparison, rolled back). FALLBACK: not served for trouble.
 */
export type RouteName =
  | "ORIGINAL_FILTER_MISS"
  | "ORIGINAL_NOT_SPLIT"
  | "ORIGINAL_HELD"
  | "ORIGINAL_FALLBACK"
  | "SPLIT"
  | "SPLIT_AND_ORIGINAL";

/** Where a partition's events are read from. */
export interface PartitionRoute {
  readonly route: RouteName;
  /** The reason, for people. */
  readonly why: string;
  /** Of the split, if it is read. */
  readonly parts: number;
}

export interface PartitionSource {
  readonly partition: PartitionKey;
  /** What is known of it so far; settled when it has been read. */
  readonly route: PartitionRoute;
  /** What was handed on so far. */
  readonly bytes: number;
  readonly events: number;
  /** Of these, what came from the original: width is counted there alone. */
  readonly originalBytes: number;
  readonly originalEvents: number;
  readonly millis: number;
  /** The next run, or undefined at the end. */
  next(): Promise<Run | undefined>;
  close(): Promise<void>;
}

export interface PartitionOpener {
  /** Returns at once and reads nothing yet: it must cost next to nothing. */
  open(
    view: NamespaceView,
    partition: PartitionKey,
    range: ScanRange,
    signal: AbortSignal,
  ): PartitionSource;
  /** How it would be read now. */
  explain(view: NamespaceView, partition: PartitionKey): Promise<PartitionRoute>;
}
