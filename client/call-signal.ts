/**
 * The one signal of a call. It aborts with the caller's signal, or when the time set by `arm` is
 * over.
 *
 * The owner calls `end`, which removes the listener from the caller's signal: that signal may live
 * much longer than the call.
 */
import { BraidError } from "./braid-error.ts";
import type { Timing } from "./timing.ts";

export class CallSignal {
  readonly #timing: Timing;
  readonly #parent: AbortSignal | undefined;
  readonly #controller = new AbortController();
  #timer = new AbortController();
  #endsAtMs = Number.POSITIVE_INFINITY;
  readonly #follow = (): void => this.#controller.abort(this.#parent?.reason);

  constructor(timing: Timing, parent: AbortSignal | undefined) {
    this.#timing = timing;
    this.#parent = parent;
    if (parent?.aborted) this.#follow();
    parent?.addEventListener("abort", this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get leftMs(): number {
    return this.#endsAtMs - this.#timing.nowMs();
  }

  /** Sets the time left, from now, and replaces the time set before. */
  arm(wanted: number): void {
    this.disarm();
    const ms = Math.min(wanted, TIMER_MS_MAX);
    const timer = new AbortController();
    this.#timer = timer;
    this.#endsAtMs = this.#timing.nowMs() + ms;
    void this.#timing.sleep(ms, timer.signal).then(() => {
      if (!timer.signal.aborted) this.#controller.abort(deadlineExceeded(ms));
    });
  }

  disarm(): void {
    this.#timer.abort();
    this.#endsAtMs = Number.POSITIVE_INFINITY;
  }

  /** Stops everything that still uses the signal. */
  end(): void {
    this.disarm();
    this.#parent?.removeEventListener("abort", this.#follow);
    this.#controller.abort(new BraidError("CANCELLED", "the call is over"));
  }
}

/** The longest delay of a timer: a longer one fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

function deadlineExceeded(ms: number): BraidError {
  return new BraidError(
    "DEADLINE_EXCEEDED",
    `no answer within ${Math.round(ms)} ms; allow more time with deadlineMs, or ask for less`,
  );
}
