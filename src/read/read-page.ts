/** The results of a read. */
import type { RouteName } from "../partition/partition-source.ts";

export interface ReadContext {
  readonly namespace: string;
  readonly timeTakenMs: number;
  readonly partitionsRead: number;
  readonly splitPartitionsRead: number;
  /** Of all events examined, including filtered ones. */
  readonly bytesRead: number;
  readonly partial: boolean;
  /** "" unless partial. */
  readonly partialReason: string;
}

export interface ReadPage {
  /** Whole frames in order: concatenated, they are the records of the answer. */
  readonly chunks: readonly Uint8Array[];
  readonly count: number;
  /** "" at the end. */
  readonly nextPageToken: string;
  /** Whether an original was read that turned out to be wide. */
  readonly wide: boolean;
  readonly context: ReadContext;
}

export interface ExplainedPartition {
  readonly timeSlice: string;
  readonly timeBucket: number;
  readonly eventBucket: number;
  readonly route: RouteName;
  readonly why: string;
  readonly parts: number;
  readonly bytes: number;
  readonly events: number;
  readonly millis: number;
  readonly read: boolean;
}

export interface ReadExplanation {
  readonly slices: readonly { readonly timeSlice: string; readonly timeBuckets: number }[];
  readonly partitions: readonly ExplainedPartition[];
  readonly totals: {
    readonly partitions: number;
    readonly partitionsRead: number;
    readonly bytes: number;
    readonly events: number;
    readonly eventsReturned: number;
    readonly millis: number;
  };
}
