/** What reading needs from outside, and whom it tells. */
import type { ByteBudget } from "../lib/byte-budget.ts";
import type { Clock } from "../lib/clock.ts";
import type { ViewSource } from "../model/namespace.ts";
import type { PartitionRead } from "../partition/partition-read.ts";
import type { PartitionOpener } from "../partition/partition-source.ts";
import type { PageTokens } from "./page-tokens.ts";
import type { ReadLimits } from "./read-query.ts";
import type { Micros } from "../lib/time-units.ts";

export interface OtherProcesses {
  readonly clockSkewMicros: Micros;
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
