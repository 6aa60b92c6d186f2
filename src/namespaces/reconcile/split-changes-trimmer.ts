/**
 * Removes old entries from the list of changed routes: by then every process that follows routes
 * has read all routes again.
 */
import type { Clock } from "../../lib/clock.ts";
import { SECOND_MICROS } from "../../model/namespace-config.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { trimChanges } from "../../records/split-changes.ts";

const KEPT_MICROS = 3_600 * SECOND_MICROS;
const TRIM_EVERY_MS = 600_000;

export class SplitChangesTrimmer {
  readonly #catalog: Catalog;
  readonly #clock: Clock;
  /** When the changes of a namespace's id were last trimmed, on the monotonic clock. */
  readonly #trimmedAtMs = new Map<string, number>();

  constructor(catalog: Catalog, clock: Clock) {
    this.#catalog = catalog;
    this.#clock = clock;
  }

  async trim({ id }: NamespaceRecord): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - (this.#trimmedAtMs.get(id) ?? -Infinity) < TRIM_EVERY_MS) return;
    await trimChanges(this.#catalog, id, this.#clock.nowMicros() - KEPT_MICROS);
    this.#trimmedAtMs.set(id, nowMs);
  }

  forgetAllBut(ids: ReadonlySet<string>): void {
    for (const id of this.#trimmedAtMs.keys()) if (!ids.has(id)) this.#trimmedAtMs.delete(id);
  }
}
