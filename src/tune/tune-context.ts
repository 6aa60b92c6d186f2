/** What tuning needs of its process. */
import type { Clock } from "../lib/clock.ts";
import type { TimePartition } from "../model/namespace-config.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import type { Tuning } from "../model/tuning.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { UnreadableEntry } from "../records/stored-json.ts";

export interface TuneContext {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly margins: TimeMargins;
  /** Believed time and whether it is in doubt (rule C25). */
  readonly time: { nowMicros(): number; readonly inDoubt: boolean };
  /**
   * Changes the partitioning of future slices, if it is still `from` and the namespace is still this
   * one. Rejects with CONFLICT if not.
   */
  readonly setPartitioning: (
    namespace: { readonly name: string; readonly id: string },
    from: TimePartition,
    to: TimePartition,
  ) => Promise<void>;
  /** Called after each move of a tuning, with the words for the log. */
  readonly observe?: (namespace: string, tuning: Tuning, words: string) => void;
  readonly unreadable?: (entry: UnreadableEntry) => void;
}
