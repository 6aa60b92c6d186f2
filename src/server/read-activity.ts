/**
 * Records when callers last read each namespace, at most once an hour: the tuner leaves namespaces
 * alone that nobody reads.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../lib/clock.ts";
import type { Catalog } from "../ports/catalog.ts";
import { noteReadAt, READ_ACTIVITY_MICROS } from "../records/read-activity-records.ts";

export interface ReadActivityOptions {
  readonly catalog: Catalog;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Believed time (rule C25): a wall clock that leaps ahead would make old reads look recent. */
  readonly time: { nowMicros(): number };
  readonly onFailed: (error: unknown) => void;
  readonly everyMs?: number;
}

const EVERY_MS = READ_ACTIVITY_MICROS / 1_000;
const NAMESPACES_MAX = 20_000;

export class ReadActivity {
  readonly #options: ReadActivityOptions;
  /** By namespace id: when this process recorded it, by the monotonic clock. */
  readonly #recordedMs = new LRUCache<string, number>({ max: NAMESPACES_MAX });

  constructor(options: ReadActivityOptions) {
    this.#options = options;
  }

  /** Never waits and never fails. */
  note(namespaceId: string): void {
    const { catalog, clock, time, onFailed, everyMs = EVERY_MS } = this.#options;
    const nowMs = clock.monotonicMs();
    const recordedMs = this.#recordedMs.get(namespaceId);
    if (recordedMs !== undefined && nowMs - recordedMs < everyMs) return;
    // Set first: a thousand reads at once record it once, and a failure waits as long as a success.
    this.#recordedMs.set(namespaceId, nowMs);
    noteReadAt(catalog, namespaceId, Math.round(time.nowMicros())).catch(onFailed);
  }
}
