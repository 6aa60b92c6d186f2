/**
 * Finds the settled floors that the slice owner stores (rules C1 and C24).
 *
 * Not all servers know a floor that was stored a moment ago, and writes that servers accepted above
 * the old floor may still be in flight. So a floor is settled only when this process has seen it
 * stored, in the same epoch, for the time that `floorSettleTime` gives, on its own monotonic clock.
 * A process that becomes the owner waits itself for each floor above the stored settled floor: it
 * cannot know for how long its predecessor saw it.
 */
import type { Clock } from "../../lib/clock.ts";
import type { Millis } from "../../lib/time-units.ts";
import { FLOORS_SETTLING_MAX } from "../../model/time-margins.ts";
import { settledFloorOf } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";

interface SeenFloor {
  readonly floor: number;
  readonly sinceMs: Millis;
}

interface Seen {
  readonly epoch: number;
  /** Rising, in the order in which this process first saw them. */
  floors: readonly SeenFloor[];
}

export class SettlingFloors {
  readonly #clock: Clock;
  readonly #settleMs: Millis;
  /** By namespace id. */
  readonly #seen = new Map<string, Seen>();

  constructor(clock: Clock, settleMs: Millis) {
    this.#clock = clock;
    this.#settleMs = settleMs;
  }

  /** Records the floor that the catalog has now. Returns the settled floor of its epoch. */
  observe(record: Pick<NamespaceRecord, "id" | "epoch" | "floor" | "settled">): number {
    const nowMs = this.#clock.monotonicMs();
    const { id, epoch, floor } = record;
    const stored = settledFloorOf(record);
    const known = this.#seen.get(id);
    // The record can be older than an earlier observation.
    if (known !== undefined && known.epoch > epoch) return stored;
    const seen = known?.epoch === epoch ? known : { epoch, floors: [] };
    this.#seen.set(id, seen);
    const settled = seen.floors.findLast(({ sinceMs }) => nowMs - sinceMs >= this.#settleMs);
    // The settled one stays until it is stored: a write can fail.
    const least = Math.max(stored, (settled?.floor ?? 0) - 1);
    const floors = seen.floors.filter((each) => each.floor > least);
    const last = floors.at(-1);
    const isDue =
      last === undefined || nowMs - last.sinceMs >= this.#settleMs / FLOORS_SETTLING_MAX;
    // A floor that comes too soon after the last is observed again later.
    if (isDue && floor > (last?.floor ?? stored)) floors.push({ floor, sinceMs: nowMs });
    seen.floors = floors;
    return Math.max(stored, settled?.floor ?? 0);
  }

  forgetAllBut(namespaceIds: ReadonlySet<string>): void {
    for (const id of this.#seen.keys()) if (!namespaceIds.has(id)) this.#seen.delete(id);
  }
}
