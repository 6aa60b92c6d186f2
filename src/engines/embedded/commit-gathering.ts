/**
 * Decides how long a commit waits for more appends.
 *
 * Callers that write one request after another come back together, a moment after the commit that
 * they waited for. A commit that begins with the first of them makes all others wait for the next
 * one: twice the syncs for the same events. So a commit waits until as many appends are there as
 * were under way when the previous one ended, for a part of the time that commits take. One caller
 * alone never waits.
 */
import type { Clock } from "../../lib/clock.ts";

/** Of the time of a commit. */
const WAIT_SHARE = 1 / 4;
const WAIT_MS_MAX = 5;
/** The least that a timer can wait. */
const WAIT_MS_MIN = 1;
/** How much the last commit counts in the time that commits take. */
const LAST_WEIGHT = 1 / 4;

export class CommitGathering {
  readonly #clock: Clock;
  #commitMs = 0;
  #endedMs = Number.NEGATIVE_INFINITY;
  /** Appends under way when the last commit ended: its own, and those that came meanwhile. */
  #expected = 0;
  #enough: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called with the appends that wait, each time there is one more. */
  appended(waiting: number): void {
    if (waiting >= this.#expected) this.#enough?.();
  }

  committed(ms: number, appends: number, waiting: number): void {
    this.#commitMs += (ms - this.#commitMs) * LAST_WEIGHT;
    this.#endedMs = this.#clock.monotonicMs();
    this.#expected = appends + waiting;
  }

  /** Undefined if the next commit need not wait. Without an append there is no next commit. */
  wait(waiting: number): Promise<void> | undefined {
    if (waiting === 0) return undefined;
    const ms = Math.min(this.#commitMs * WAIT_SHARE, WAIT_MS_MAX);
    if (ms < WAIT_MS_MIN || waiting >= this.#expected) return undefined;
    // Who has not come back by now is not expected.
    if (this.#clock.monotonicMs() - this.#endedMs > this.#commitMs) return undefined;
    return new Promise((resolve) => {
      const end = (): void => {
        this.#enough = undefined;
        cancel();
        resolve();
      };
      const cancel = this.#clock.after(ms, end);
      this.#enough = end;
    });
  }
}
