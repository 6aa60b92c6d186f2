/** One partition, opened for reading. Its events come in order, as runs, whatever their source. */
import type { NamespaceView } from "../model/namespace.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { ScanRange } from "../ports/event-store.ts";
import type { Run } from "../wire/frames.ts";

/**
 * FILTER_MISS: the slice's filter says that the partition is not split. NOT_SPLIT: nothing of it is
 * split. HELD: it is split, but a decision prevents serving it (mode, kill switch, first
 * comparison, rolled back). FALLBACK: a problem prevents serving it.
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
  /** What is known of it so far; final when the partition has been read. */
  readonly route: PartitionRoute;
  /** The bytes returned so far. */
  readonly bytes: number;
  readonly events: number;
  /** The share of these that came from the original: only it counts as width. */
  readonly originalBytes: number;
  readonly originalEvents: number;
  readonly millis: number;
  /** The next run, or undefined at the end. */
  next(): Promise<Run | undefined>;
  /**
   * Whether the run returned last must not be passed on any more, if that was not done yet: the
   * split that it came from may not be served now (rule C23). Never rejects.
   */
  isWithdrawn(): Promise<boolean>;
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
  /** How the partition would be read now. */
  explain(view: NamespaceView, partition: PartitionKey): Promise<PartitionRoute>;
}
