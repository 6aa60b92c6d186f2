/**
 * Which splits may be taken: those nobody works on, and those whose owner is dead (rule C16).
 *
 * An owner raises the counter in its record while it lives. Whoever finds it at the same fence and
 * counter for a lease's time, on his own monotonic clock, takes the split over; wall clocks are not
 * compared. Two may still believe to own one for a while: compare-and-set and fresh part numbers keep
 * that harmless (rule C8).
 */
import type { Clock } from "../../lib/clock.ts";
import type { SplitRecord } from "../../model/split.ts";
import { partitionText } from "../../model/partition.ts";

/** Beyond it the one that was seen first is watched from the start again. */
const WATCHED_MAX = 10_000;

interface Watched {
  readonly fence: number;
  readonly heartbeat: number;
  readonly sinceMs: number;
}

export class OwnerWatch {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #watched = new Map<string, Watched>();

  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  /** Whether nobody else works on it, as far as can be told now. */
  isFree({ partition, owner, fence }: SplitRecord): boolean {
    const name = partitionText(partition);
    if (owner === null) {
      this.#watched.delete(name);
      return true;
    }
    const nowMs = this.#clock.monotonicMs();
    const seen = this.#watched.get(name);
    if (seen?.fence === fence && seen.heartbeat === owner.heartbeat) {
      return nowMs - seen.sinceMs >= this.#leaseMs;
    }
    this.#watched.delete(name);
    this.#watched.set(name, { fence, heartbeat: owner.heartbeat, sinceMs: nowMs });
    const [first] = this.#watched.keys();
    if (this.#watched.size > WATCHED_MAX && first !== undefined) this.#watched.delete(first);
    return false;
  }
}
