/** What reading needs from outside, and whom it notifies. */
import type { ByteBudget } from "../lib/byte-budget.ts";
import type { Clock } from "../lib/clock.ts";
import type { ViewSource } from "../model/namespace.ts";
import type { PartitionRead } from "../partition/partition-read.ts";
import type { PartitionOpener } from "../partition/partition-source.ts";
import type { AheadOutcome } from "./ahead-memory.ts";
import type { PageTokens } from "./page-tokens.ts";
import type { ReadLimits } from "./read-limits.ts";
import type { EventStore } from "../ports/event-store.ts";
import type { Micros } from "../lib/time-units.ts";

export interface OtherProcesses {
  readonly clockSkewMicros: Micros;
  /** After it resolves, no view requested earlier is used here. Never rejects. */
  readonly refreshView: (namespace: string) => Promise<void>;
}

export interface ReadAheadNote {
  readonly namespace: string;
  /** Time buckets that the namespace's next read may read at once. */
  readonly fanOut: number;
  readonly bytesOf: Readonly<Record<AheadOutcome, number>>;
}

export interface ReadDependencies {
  readonly clock: Clock;
  readonly views: ViewSource;
  /** Opens partitions: it knows which are read from their splits. */
  readonly opener: PartitionOpener;
  /** The storage, for its search for the next time bucket with events, if it has one. */
  readonly search: Pick<EventStore, "findTimeBucket">;
  /** For all pages being read in this process. */
  readonly budget: ByteBudget;
  /** For all streams: separate, so that slow readers of streams do not block pages. */
  readonly streamBudget: ByteBudget;
  readonly tokens: PageTokens;
  readonly limits: ReadLimits;
  /**
   * Set where other processes make slices too, and one of them may know of a slice before this one.
   */
  readonly others?: OtherProcesses;
  /** Called when a read has ended that read time buckets ahead; must return at once. */
  readonly onReadAhead?: (ahead: ReadAheadNote) => void;
  /** Called with every partition that was read; must return at once. */
  readonly onPartitionRead?: (read: PartitionRead) => void;
}
