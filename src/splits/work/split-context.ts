/** What a worker needs to split partitions, and the events that it reports. */
import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import type { Tracer } from "../../lib/tracer.ts";
import type { ViewSource } from "../../model/namespace.ts";
import type { PartitionKey, SliceRef } from "../../model/partition.ts";
import type { MoveCause } from "../../model/move-cause.ts";
import type { SplitState } from "../../model/split.ts";
import type { TimeMargins } from "../../model/time-margins.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import type { UnreadableEntry } from "../../records/stored-json.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { Fragments } from "../../ports/fragments.ts";
import type { EventStore } from "../../ports/event-store.ts";

/** What the worker did with a split's bytes: every byte goes through all stages. */
export type CopyStage = "read" | "written" | "validated" | "confirmed";

export type SplitEvent =
  | {
      readonly kind: "moved";
      readonly namespace: string;
      readonly partition: PartitionKey;
      readonly from: SplitState;
      readonly to: SplitState;
      readonly cause: MoveCause;
      readonly reason: string;
    }
  | {
      readonly kind: "bytes";
      readonly namespace: string;
      readonly stage: CopyStage;
      readonly bytes: number;
    }
  | {
      /** The worker wrote a whole part. */
      readonly kind: "part";
      readonly namespace: string;
      readonly bytes: number;
      readonly events: number;
    }
  | {
      /** The worker confirmed a segment: servers may serve it. */
      readonly kind: "split";
      readonly namespace: string;
      readonly partition: PartitionKey;
      /** Of the segment. */
      readonly bytes: number;
      readonly parts: number;
      /** Of all segments: the partition as far as it is split. */
      readonly partitionBytes: number;
    }
  | {
      /** An id gets more event buckets. */
      readonly kind: "id step";
      readonly namespace: string;
      readonly partition: PartitionKey;
      readonly factor: number;
    }
  | {
      /** The worker skips an entry or record that it cannot decode (rule C28). */
      readonly kind: "unreadable";
      readonly entry: UnreadableEntry;
    }
  | {
      readonly kind: "trouble";
      readonly namespace: string;
      readonly what: string;
      readonly error: unknown;
    };

export interface SplitContext {
  readonly catalog: Catalog;
  readonly store: EventStore;
  readonly views: ViewSource;
  readonly clock: Clock;
  readonly random: Random;
  /** The name of this process, for owners and histories. No two processes have the same name. */
  readonly by: string;
  readonly margins: TimeMargins;
  /** Whether this machine's clock is in doubt; if so, no id gets a strategy (rule C26). */
  readonly clockInDoubt?: () => boolean;
  /**
   * Whether copies read every replica, for every namespace: true if there is more than one data
   * centre.
   */
  readonly copyAtAll: boolean;
  /**
   * Makes the table for the parts of a slice's splits, if it has none yet. "gone": the slice is
   * dropped. A failure parks the split.
   */
  readonly makeSplitTable: (
    namespace: NamespaceRecord,
    slice: string,
    signal: AbortSignal,
  ) => Promise<"made" | "gone">;
  /** How scattered a slice lies in the storage, if that is known. Never rejects. */
  readonly fragments?: (slice: SliceRef) => Promise<Fragments | undefined>;
  /** The current latency of this process's live reads; undefined while there are none. */
  readonly readLatencyMs?: () => number | undefined;
  readonly observe: (event: SplitEvent) => void;
  /** Records the work on each split, and its steps; undefined if nobody wants traces. */
  readonly tracer?: Tracer | undefined;
  readonly leaseMs?: number;
  readonly sweepMs?: number;
  /** How many splits the worker works on at once. */
  readonly concurrency?: number;
}
