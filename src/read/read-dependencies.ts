/** What reading needs from outside, and whom it tells. */
import type { ByteBudget } from "../lib/byte-budget.ts";
import type { Clock } from "../lib/clock.ts";
import type { NamespaceView, ViewSource } from "../model/namespace.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { PartitionOpener, RouteName } from "../partition/partition-source.ts";
import type { PageTokens } from "./page-tokens.ts";
import type { ReadLimits } from "./read-query.ts";

/** What was read of one partition: the seam where width is noticed. */
export interface PartitionRead {
  /** The one the read was made with. */
  readonly view: NamespaceView;
  readonly partition: PartitionKey;
  readonly route: RouteName;
  /** By this read so far, the pages before included; what a split covers is left out (rule C10). */
  readonly bytes: number;
  readonly events: number;
  /** Whether these are all its events: the read began before the first and went behind the last. */
  readonly whole: boolean;
}

export interface OtherProcesses {
  readonly clockSkewMicros: number;
  /** When it resolves, no view that was asked for before is given out here. Never rejects. */
  readonly refreshView: (namespace: string) => Promise<void>;
}

export interface ReadDependencies {
  readonly clock: Clock;
  readonly views: ViewSource;
  /** Where partitions are opened: it knows which are read from their splits. */
  readonly opener: PartitionOpener;
  /** Of all pages being read in this process. */
  readonly budget: ByteBudget;
  /** Of all streams: apart, so that slow readers of streams do not keep pages waiting. */
  readonly streamBudget: ByteBudget;
  readonly tokens: PageTokens;
  readonly limits: ReadLimits;
  /** Where other processes make slices too, and one of them may know of a slice before this one. */
  readonly others?: OtherProcesses;
  /** Told of every partition that was read; must return at once. */
  readonly onPartitionRead?: (read: PartitionRead) => void;
}
