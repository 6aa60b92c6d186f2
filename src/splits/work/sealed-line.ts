/**
 * Finds the settled floor, below which this process may copy (rule C1).
 *
 * Not all servers know a floor that was stored a moment ago, and writes that servers accepted above
 * the old floor may still be in flight. So a floor is settled only when this process has seen it,
 * in the same epoch, for `view_max_age` plus the longest time a write may be in flight, on its own
 * monotonic clock.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";
import type { Millis } from "../../lib/time-units.ts";
import type { Namespace } from "../../model/namespace.ts";

/**
 * Above this number, the least recently observed namespace is dropped: its floor must settle again.
 */
const NAMESPACES_MAX = 10_000;
/**
 * Floors of one namespace that wait to settle at a time, so the settled floor rises in steps of 1/8
 * of the settling time.
 */
const WAITING_MAX = 8;

interface SeenFloor {
  readonly floor: number;
  readonly sinceMs: number;
}

interface Watched {
  readonly epoch: number;
  settled: number | undefined;
  /** Rising, in the order in which this process first saw them. */
  readonly waiting: SeenFloor[];
}

export class SealedLine {
  readonly #clock: Clock;
  readonly #settleMs: Millis;
  /** By namespace id. */
  readonly #watched = new LRUCache<string, Watched>({ max: NAMESPACES_MAX });

  /** `settleMs`: `view_max_age` plus the longest time a write may be in flight. */
  constructor(clock: Clock, settleMs: Millis) {
    this.#clock = clock;
    this.#settleMs = settleMs;
  }

  /** Records the epoch and floor that the catalog or a view has now. */
  observe({ id, epoch, floor }: Namespace): void {
    const known = this.#watched.get(id);
    // A view can be older than an earlier observation.
    if (known !== undefined && known.epoch > epoch) return;
    const watched: Watched =
      known?.epoch === epoch ? known : { epoch, settled: undefined, waiting: [] };
    this.#watched.set(id, watched);
    this.#note(watched, floor);
  }

  /**
   * The settled floor: event time below it can no longer change in this epoch. Undefined if no
   * floor has been known for long enough.
   */
  floorFor(namespaceId: string, epoch: number): number | undefined {
    const watched = this.#watched.peek(namespaceId);
    if (watched?.epoch !== epoch) return undefined;
    this.#settle(watched);
    return watched.settled;
  }

  #note(watched: Watched, floor: number): void {
    this.#settle(watched);
    const { waiting, settled } = watched;
    const last = waiting.at(-1);
    if (floor <= (last?.floor ?? settled ?? -Infinity)) return;
    const nowMs = this.#clock.monotonicMs();
    // Skip a floor that comes too soon after the last; a later call observes it again.
    if (last !== undefined && nowMs - last.sinceMs < this.#settleMs / WAITING_MAX) return;
    waiting.push({ floor, sinceMs: nowMs });
  }

  #settle(watched: Watched): void {
    const nowMs = this.#clock.monotonicMs();
    const { waiting } = watched;
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      if (nowMs - first.sinceMs < this.#settleMs) return;
      watched.settled = first.floor;
      waiting.shift();
    }
  }
}
