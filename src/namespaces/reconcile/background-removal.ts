/**
 * Removes records that no process needs any more, beside the runs of the reconciler: those of dropped
 * slices, and entries of the change log that every process has followed. The floors of all
 * namespaces never wait for it.
 */
import type { Clock } from "../../lib/clock.ts";
import { SECOND_MICROS } from "../../model/namespace-config.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { readSplitMarks } from "../../records/changed-splits.ts";
import { removeDroppedRecords } from "../../records/dropped-slices.ts";
import { trimChanges } from "../../records/split-changes.ts";

/** By then every process that follows routes has read all routes again. */
const CHANGES_KEPT_MICROS = 3_600 * SECOND_MICROS;
const TRIM_EVERY_MS = 600_000;

export class BackgroundRemoval {
  readonly #catalog: Catalog;
  readonly #clock: Clock;
  #trimmedAtMs = -Infinity;
  /** By namespace id: the mark of its changes when its log was found empty. */
  #emptyAt = new Map<string, number>();

  constructor(catalog: Catalog, clock: Clock) {
    this.#catalog = catalog;
    this.#clock = clock;
  }

  /** One pass. It stops before the next few records once it may not continue. */
  async runOnce(continues: () => boolean): Promise<void> {
    await removeDroppedRecords(this.#catalog, continues);
    await this.#trimChanges(continues);
  }

  /** Asks once which namespaces have changes at all. */
  async #trimChanges(continues: () => boolean): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#trimmedAtMs < TRIM_EVERY_MS) return;
    const emptyAt = new Map<string, number>();
    // Before the logs: an entry that is marked later is looked for in the next pass.
    for (const [id, mark] of await readSplitMarks(this.#catalog)) {
      if (!continues()) return;
      if (this.#emptyAt.get(id) === mark) emptyAt.set(id, mark);
      else {
        const before = this.#clock.nowMicros() - CHANGES_KEPT_MICROS;
        if (await trimChanges(this.#catalog, id, before, continues)) emptyAt.set(id, mark);
      }
    }
    this.#emptyAt = emptyAt;
    this.#trimmedAtMs = nowMs;
  }
}
