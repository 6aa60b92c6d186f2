/**
 * Decides whether a call is retried, and after how long.
 *
 * Three bounds hold at once: tries per call, the call's deadline, and one budget for all calls of a
 * client, so that a server in trouble does not get many times its normal load.
 */
import type { BraidError } from "./braid-error.ts";
import type { Timing } from "./timing.ts";

export interface RetryLimits {
  /** Tries per call, the first included. */
  readonly attemptsMax: number;
  readonly firstDelayMs: number;
  readonly delayMaxMs: number;
}

/** About nine seconds in all: enough for a server to be restarted. */
export const DEFAULT_RETRIES: RetryLimits = { attemptsMax: 10, firstDelayMs: 50, delayMaxMs: 3000 };

export class Retries {
  readonly #limits: RetryLimits;
  readonly #timing: Timing;
  #budget = BUDGET;

  constructor(limits: RetryLimits, timing: Timing) {
    this.#limits = limits;
    this.#timing = timing;
  }

  succeeded(): void {
    this.#budget = Math.min(BUDGET, this.#budget + EARNED_BY_SUCCESS);
  }

  /**
   * How long to wait before trying again after `attempt` tries (from 1), or undefined: give up now.
   * The client waits for the server's hint in full, or gives up if the deadline comes first.
   */
  delayMs(error: BraidError, attempt: number, leftMs: number): number | undefined {
    if (attempt >= this.#limits.attemptsMax || this.#budget < 1) return undefined;
    const { firstDelayMs, delayMaxMs } = this.#limits;
    const ceiling = Math.min(delayMaxMs, firstDelayMs * 2 ** (attempt - 1));
    // Half of it is random, so that callers that failed together do not return together.
    const jittered = ceiling * (0.5 + 0.5 * this.#timing.fraction());
    const hint = error.retryAfterMs ?? 0;
    const delay = hint > 0 ? hint + jittered : jittered;
    if (delay >= leftMs) return undefined;
    this.#budget -= 1;
    return delay;
  }
}

const BUDGET = 100;
/** Five answers pay for one retry. */
const EARNED_BY_SUCCESS = 0.2;
