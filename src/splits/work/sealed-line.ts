/**
 * Which sealed line this process may copy below (rule C1).
 *
 * A floor that was stored a moment ago is not yet known to all servers, and writes that were
 * accepted above the old one may still be under way. So a floor counts only when this process has
 * seen it, in the same epoch, for `viewMaxAge` and the longest a write may be in flight, on its own
 * monotonic clock.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";
import type { Millis } from "../../lib/time-units.ts";
import type { Namespace } from "../../model/namespace.ts";

/** Beyond it the namespace that was looked at longest ago is watched from the start again. */
const NAMESPACES_MAX = 10_000;
/**
 * Floors of one namespace that wait at a time: the line follows time in steps of a settling by
 * this.
 */
const WAITING_MAX = 8;

interface SeenFloor {
  readonly floor: number;
  readonly sinceMs: number;
}

interface Watched {
  readonly epoch: number;
  settled: number | undefined;
  /** Rising, by the time they were first seen. */
  readonly waiting: SeenFloor[];
}

export class SealedLine {
  readonly #clock: Clock;
  readonly #settleMs: Millis;
  /** By namespace id. */
  readonly #watched = new LRUCache<string, Watched>({ max: NAMESPACES_MAX });

  /** `settleMs`: a view's greatest age and the longest a write may be in flight. */
  constructor(clock: Clock, settleMs: Millis) {
    this.#clock = clock;
    this.#settleMs = settleMs;
  }

  /** What the catalog, or a view, says now. */
  observe({ id, epoch, floor }: Namespace): void {
    const known = this.#watched.get(id);
    // A view can be older than what was seen before.
    if (known !== undefined && known.epoch > epoch) return;
    const watched: Watched =
      known?.epoch === epoch ? known : { epoch, settled: undefined, waiting: [] };
    this.#watched.set(id, watched);
    this.#note(watched, floor);
  }

  /**
   * Event time below it can no longer change in this epoch. Undefined: nothing is known for long
   * enough.
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
    // One that comes too soon behind the last is seen again when it is its turn.
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
