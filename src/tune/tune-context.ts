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
   * Changes the partitioning of future slices, if it is still `from`. Rejects with CONFLICT if it
   * is not.
   */
  readonly setPartitioning: (
    namespace: string,
    from: TimePartition,
    to: TimePartition,
  ) => Promise<void>;
  /** Called after each move of a tuning. */
  readonly observe?: (namespace: string, tuning: Tuning) => void;
  readonly unreadable?: (entry: UnreadableEntry) => void;
}
