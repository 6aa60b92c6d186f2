/**
 * How long this process has seen something, in consecutive runs, on its own monotonic clock: what
 * it has seen for `view_max_age`, every process has seen. Remembers only what the current or the
 * last run saw.
 */
import type { Clock } from "../../lib/clock.ts";

export class Sightings {
  readonly #clock: Clock;
  #seen = new Map<string, number>();
  #seenBefore = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Forgets what the last run did not see. */
  beginRun(): void {
    this.#seenBefore = this.#seen;
    this.#seen = new Map();
  }

  /** Records a sighting, and returns for how long it has been seen; 0 the first time. */
  seenForMs(what: string): number {
    const nowMs = this.#clock.monotonicMs();
    const since = this.#seen.get(what) ?? this.#seenBefore.get(what) ?? nowMs;
    this.#seen.set(what, since);
    return nowMs - since;
  }

  hasSeen(what: string): boolean {
    return this.#seen.has(what) || this.#seenBefore.has(what);
  }
}
