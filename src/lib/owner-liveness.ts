/**
 * Decides whether the owner of something that several processes share is dead (rule C16).
 *
 * A record holds a fence, which each new owner raises, and a counter, which the owner raises while
 * it lives. An observer considers the owner dead when it has seen neither change for one lease time
 * on its own monotonic clock; clocks of two processes are never compared. A dead owner may still
 * wake up: compare-and-set on the record keeps that harmless.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "./clock.ts";
import type { Millis } from "./time-units.ts";

export interface OwnerSign {
  readonly fence: number;
  readonly counter: number;
}

/**
 * The lease time of every owner: one whose counter has not changed for this long is dead. It raises
 * the counter every third of this time.
 */
export const LEASE_MS: Millis = 10_000;

/** Owners watched at a time; the lease time of a forgotten one starts again. */
const WATCHED_MAX = 10_000;

interface Seen extends OwnerSign {
  readonly sinceMs: Millis;
}

export class OwnerLiveness {
  readonly #clock: Clock;
  readonly #leaseMs: Millis;
  readonly #seen: LRUCache<string, Seen>;

  constructor(clock: Clock, leaseMs: Millis, watchedMax: number = WATCHED_MAX) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#seen = new LRUCache({ max: watchedMax });
  }

  /** Call it with a record just read: the owner has raised the counter before this moment. */
  isDead(name: string, { fence, counter }: OwnerSign): boolean {
    const nowMs = this.#clock.monotonicMs();
    const seen = this.#seen.get(name);
    if (seen?.fence === fence && seen.counter === counter) {
      return nowMs - seen.sinceMs >= this.#leaseMs;
    }
    this.#seen.set(name, { fence, counter, sinceMs: nowMs });
    return false;
  }
}
