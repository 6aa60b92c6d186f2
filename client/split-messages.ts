/** The messages on splits, read modes and comparisons in proto3 JSON: times as text, 64-bit numbers as text. */

export type SplitState =
  | "DETECTED"
  | "PLANNING"
  | "PLANNED"
  | "SPLITTING"
  | "VALIDATING"
  | "COMPLETED"
  | "PARKED"
  | "REFUSED"
  | "FAILED"
  | "INVALIDATED";

export type ReadModeName = "OFF" | "SHADOW" | "COMPARE" | "SERVE";

/** One partition of a namespace. */
export interface Partition {
  readonly timeSlice: string;
  readonly timeSeriesId: string;
  readonly timeBucket: number;
  readonly eventBucket: number;
}

export interface SplitPart {
  /** In the split table. */
  readonly eventBucket: number;
  readonly from: string;
  readonly to: string;
  readonly bytes: string;
  readonly events: string;
}

export interface SplitSegment {
  readonly from: string;
  readonly to: string;
  readonly state: SplitState;
  readonly generation: string;
  readonly postSplitData: {
    readonly timeSlice: string;
    readonly layout: "PACKED" | "ROWS";
    readonly strategy: string;
    readonly eventBucketPartitionStrategy: {
      readonly targetEventBuckets: number;
      readonly startEventBucket: number;
    };
    /** Empty in a list. */
    readonly parts: readonly SplitPart[];
    readonly bytes: string;
    readonly events: string;
    readonly checksum: string;
  };
  readonly why: string;
  /** The checkpoint: everything from here to `to` is copied. */
  readonly copiedTo: string;
  /** Nobody is served before. */
  readonly confirmed: boolean;
  readonly confirmTime?: string;
  readonly partBytes: string;
}

export interface SeenLatency {
  readonly reads: string;
  readonly meanMs: number;
  readonly maxMs: number;
}

export interface SplitMove {
  readonly at: string;
  readonly by: string;
  /** Left out for the first. */
  readonly from?: SplitState;
  readonly to: SplitState;
  readonly reason: string;
}

export interface Split {
  readonly preSplitData: Partition & {
    readonly bytes: string;
    readonly events: string;
    readonly checksum: string;
  };
  readonly segments: readonly SplitSegment[];
  readonly state: SplitState;
  readonly epoch: string;
  readonly latency: { readonly before: SeenLatency; readonly after: SeenLatency };
  readonly history: readonly SplitMove[];
  readonly namespace: string;
  readonly reason: string;
  readonly detectTime: string;
  /** Left out if nothing is left to do unless somebody asks. */
  readonly dueTime?: string;
  readonly owner: string;
  readonly failures: number;
  readonly held: boolean;
  readonly heldBy: string;
  readonly immutable: boolean;
  readonly version: string;
}

export interface ReadMode {
  readonly mode: ReadModeName;
  readonly evidence: readonly {
    readonly layout: string;
    readonly strategy: string;
    readonly readsCompared: string;
    readonly bytesMatched: string;
    readonly bytesDiffered: string;
    readonly since: string;
  }[];
  /** Left out at the last. */
  readonly nextMode?: ReadModeName;
  readonly blockedBy: string;
  readonly autoAdvance: boolean;
  readonly since: string;
  readonly by: string;
  readonly reason: string;
}

export interface KillSwitch {
  readonly on: boolean;
  /** Left out if it was never set. */
  readonly setTime?: string;
  readonly by: string;
  readonly reason: string;
}

export interface Verification {
  readonly state: "RUNNING" | "DONE" | "FAILED" | "STOPPED";
  readonly eventsCompared: string;
  readonly bytesCompared: string;
  /** The first of them; `differencesFound` counts all. */
  readonly differences: readonly {
    readonly partition: Partition;
    readonly kind: string;
    readonly eventTime: string;
    readonly eventId: string;
    readonly detail: string;
  }[];
  readonly differencesFound: string;
  readonly verifyId: string;
  readonly namespace: string;
  readonly splitsDone: string;
  readonly splitsTotal: string;
  readonly startTime: string;
  readonly endTime?: string;
  readonly reason: string;
}
