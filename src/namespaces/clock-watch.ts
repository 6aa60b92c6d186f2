/**
 * How far the wall clock can be believed when time alone is the reason to throw data away.
 *
 * Compares it with the monotonic clock, which does not step. A clock that was set forward and a
 * machine that slept look the same, so a jump is not called wrong: it is doubted, until it is
 * undone or the process is started anew.
 */
import type { Clock } from "../lib/clock.ts";

export interface ClockTrust {
  /** It has jumped forward within the settling time: nothing that cannot be undone rests on it. */
  readonly jumped: boolean;
  /**
   * By how much it may be ahead of the truth. Infinity just after the start, when there is nothing
   * to compare with.
   */
  readonly doubtMicros: number;
  /** A larger step is a jump. */
  readonly jumpMicros: number;
}

export class ClockWatch {
  readonly #clock: Clock;
  readonly #jumpMicros: number;
  readonly #settleMs: number;
  #lastMicros: number;
  #lastMs: number;
  readonly #startedAtMs: number;
  #jumpedAtMs = Number.NEGATIVE_INFINITY;
  #aheadMicros = 0;

  /**
   * `jumpMicros`: smaller steps are ordinary corrections. `settleMs`: how long someone has to
   * correct a larger one.
   */
  constructor(clock: Clock, jumpMicros: number, settleMs: number) {
    this.#clock = clock;
    this.#jumpMicros = jumpMicros;
    this.#settleMs = settleMs;
    this.#lastMicros = clock.nowMicros();
    this.#lastMs = clock.monotonicMs();
    this.#startedAtMs = this.#lastMs;
  }

  look(): ClockTrust {
    const micros = this.#clock.nowMicros();
    const ms = this.#clock.monotonicMs();
    const jump = micros - this.#lastMicros - (ms - this.#lastMs) * 1000;
    this.#lastMicros = micros;
    this.#lastMs = ms;
    if (jump > this.#jumpMicros) this.#jumpedAtMs = ms;
    if (Math.abs(jump) > this.#jumpMicros) {
      const ahead = this.#aheadMicros + jump;
      this.#aheadMicros = ahead > this.#jumpMicros ? ahead : 0;
    }
    // A jump that was taken back needs no settling.
    const jumped = this.#aheadMicros > 0 && ms - this.#jumpedAtMs < this.#settleMs;
    const starting = ms - this.#startedAtMs < this.#settleMs;
    return {
      jumped,
      doubtMicros: starting ? Number.POSITIVE_INFINITY : this.#aheadMicros,
      jumpMicros: this.#jumpMicros,
    };
  }
}
