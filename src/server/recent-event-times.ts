/**
 * The event times of the newest events that callers sent, whatever became of them: a second opinion
 * on what time it is (rule C25). Callers have clocks of their own.
 */
import type { Micros } from "../lib/time-units.ts";

const TIMES = 1_000;

export class RecentEventTimes {
  readonly #times: Micros[] = [];
  #next = 0;

  note(time: Micros): void {
    this.#times[this.#next] = time;
    this.#next = (this.#next + 1) % TIMES;
  }

  /** Undefined until there are 1,000. */
  median(): Micros | undefined {
    if (this.#times.length < TIMES) return undefined;
    return this.#times.toSorted((a, b) => a - b)[TIMES >> 1];
  }
}
