/** The control side's messages in proto3 JSON: durations as `"600s"`, 64-bit numbers as text. */
import type { ReadModeName } from "./split-messages.ts";

export interface TimePartition {
  readonly secondsPerTimeSlice: number;
  readonly secondsPerTimeBucket: number;
  readonly eventBuckets: number;
}

export interface NamespaceConfig {
  readonly timePartition: TimePartition;
  readonly acceptLimit: string;
  readonly futureLimit: string;
  readonly retention: { readonly closeAfter: string; readonly deleteAfter: string };
  readonly slos: {
    readonly read: { readonly target: string; readonly max: string };
    readonly write: { readonly target: string; readonly max: string };
  };
  readonly consistency: "READ_YOUR_WRITES" | "EVENTUAL";
  readonly widePartition: {
    readonly detect: boolean;
    readonly bytesMax: string;
    readonly eventsMax: string;
    readonly targetBytes: string;
    readonly maxParts: number;
    readonly layout: "PACKED" | "ROWS";
    readonly strategy: string;
  };
  readonly tuning: {
    readonly mode: "PROPOSE" | "OFF" | "AUTO";
    readonly densityMinBytes: string;
    readonly densityMaxBytes: string;
  };
}

/** What is left out keeps its value, or its default. */
export type NamespaceChange = DeepPartial<NamespaceConfig>;

export interface Namespace {
  readonly namespace: string;
  readonly id: string;
  readonly config: NamespaceConfig;
  readonly epoch: string;
  readonly createTime: string;
  readonly version: string;
  readonly readMode: ReadModeName;
  readonly splitsPaused: boolean;
  /** Left out if it is not paused. */
  readonly splitsPause?: {
    readonly since: string;
    readonly by: string;
    readonly reason: string;
  };
}

export interface TimeSlice {
  readonly name: string;
  readonly start: string;
  readonly end: string;
  readonly status: "UPCOMING" | "ACTIVE" | "SEALED" | "CLOSED" | "DROPPED";
  readonly timePartition: TimePartition;
  readonly bytes: string;
  readonly events: string;
}

export interface BlockedId {
  readonly timeSeriesId: string;
  readonly reason: string;
  /** Null or absent: never. */
  readonly expireTime?: string | null;
  readonly blockTime: string;
  readonly source: "API" | "CONFIG";
}

export type SizeSource = "READS" | "TABLE_ESTIMATES" | "JMX";

/** Sizes are bytes; percentiles are left out where the source cannot tell. */
interface PartitionSizeNumbers {
  readonly source: SizeSource;
  readonly count: string;
  readonly p50?: string;
  readonly p99?: string;
  readonly max: string;
  readonly mean: string;
  readonly coverage: string;
  readonly tells: string;
  readonly doesNotTell: string;
}

export interface SizeReport extends PartitionSizeNumbers {
  /** Why this source could not be asked: then the rest says nothing. */
  readonly reason: string;
}

export interface PartitionHistogram extends PartitionSizeNumbers {
  readonly timeSlice: string;
  readonly buckets: readonly { readonly upToBytes: string; readonly partitions: string }[];
  readonly asOf: string;
  readonly alternatives: readonly SizeReport[];
}

export interface ResponseContext {
  readonly namespace: string;
  readonly timeTaken: string;
  readonly partitionsRead: number;
  readonly splitPartitionsRead: number;
  readonly bytesRead: string;
  readonly partial: boolean;
  readonly partialReason: string;
}

export interface EventFailure {
  /** The event's place in the batch, from 0. */
  readonly index: number;
  readonly code: string;
  readonly message: string;
}

export interface ExplainedPartition {
  readonly timeSlice: string;
  readonly timeBucket: number;
  readonly eventBucket: number;
  readonly route: string;
  readonly why: string;
  readonly parts: number;
  readonly bytes: string;
  readonly events: string;
  readonly millis: number;
  readonly read: boolean;
}

export interface ExplainedRead {
  readonly slices: readonly { readonly timeSlice: string; readonly timeBuckets: number }[];
  readonly partitions: readonly ExplainedPartition[];
  readonly totals: {
    readonly partitions: string;
    readonly partitionsRead: number;
    readonly bytes: string;
    readonly events: string;
    readonly eventsReturned: string;
    readonly millis: number;
  };
}

type DeepPartial<T> = T extends object ? { readonly [K in keyof T]?: DeepPartial<T[K]> } : T;
