/** What a worker is given to split partitions with, and what it tells of itself. */
import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import type { ViewSource } from "../../model/namespace.ts";
import type { PartitionKey, SliceRef } from "../../model/partition.ts";
import type { MoveCause } from "../../model/move-cause.ts";
import type { SplitState } from "../../model/split.ts";
import type { TimeMargins } from "../../model/time-margins.ts";
import type { UnreadableEntry } from "../../records/stored-json.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { Fragments } from "../../ports/fragments.ts";
import type { EventStore } from "../../ports/event-store.ts";

/** What was done with a split's bytes: the same byte goes through all of them. */
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
      /** A part was written whole. */
      readonly kind: "part";
      readonly namespace: string;
      readonly bytes: number;
      readonly events: number;
    }
  | {
      /** A segment was confirmed: it may be served. */
      readonly kind: "split";
      readonly namespace: string;
      readonly partition: PartitionKey;
      readonly bytes: number;
      readonly parts: number;
    }
  | {
      /** An id gets more event buckets. */
      readonly kind: "id step";
      readonly namespace: string;
      readonly partition: PartitionKey;
      readonly factor: number;
    }
  | {
      /** An entry or record of the work that this process cannot decode is skipped (rule C28). */
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
  /** Which process this is, for owners and histories. Never used by two. */
  readonly by: string;
  readonly margins: TimeMargins;
  /** Whether this machine's clock is in doubt; then no id gets a strategy (rule C26). */
  readonly clockInDoubt?: () => boolean;
  /**
   * Whether every replica is asked, whatever the namespace: where there is more than one data
   * centre.
   */
  readonly copyAtAll: boolean;
  /** How scattered a slice lies in the storage, where that is known. Never rejects. */
  readonly fragments?: (slice: SliceRef) => Promise<Fragments | undefined>;
  /** How long the live reads of this process take now; undefined while there are none. */
  readonly readLatencyMs?: () => number | undefined;
  readonly observe: (event: SplitEvent) => void;
  readonly leaseMs?: number;
  readonly sweepMs?: number;
  /** Splits that are worked on at once. */
  readonly concurrency?: number;
}

/** An owner that has not moved its counter for this long is dead. */
export const LEASE_MS = 10_000;
