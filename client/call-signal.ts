/**
 * The one signal of a call. It aborts with the caller's signal, or when the time set by `arm` is
 * over.
 *
 * It makes an `AbortSignal` only for those who need one: making and using it costs a small call a
 * tenth of its time. The owner calls `end`, which removes the listener from the caller's signal:
 * that signal may live much longer than the call.
 */
import { BraidError } from "./braid-error.ts";
import { startTimer } from "./timing.ts";
import type { Timing } from "./timing.ts";

export type OnAbort = (reason: unknown) => void;

export class CallSignal {
  readonly #timing: Timing;
  readonly #parent: AbortSignal | undefined;
  #controller: AbortController | undefined;
  readonly #listeners = new Set<OnAbort>();
  #stopTimer: (() => void) | undefined;
  #endsAtMs = Number.POSITIVE_INFINITY;
  #aborted = false;
  #reason: unknown;
  readonly #follow = (): void => this.#abort(this.#parent?.reason);

  constructor(timing: Timing, parent: AbortSignal | undefined) {
    this.#timing = timing;
    this.#parent = parent;
    if (parent?.aborted) this.#follow();
    parent?.addEventListener("abort", this.#follow, { once: true });
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  /** Calls `listener` when the signal aborts, until the function it returns is called. */
  onAbort(listener: OnAbort): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get leftMs(): number {
    return this.#endsAtMs - this.#timing.nowMs();
  }

  /** Sets the time left, from now, and replaces the time set before. */
  arm(wanted: number): void {
    this.disarm();
    const ms = Math.min(wanted, TIMER_MS_MAX);
    this.#endsAtMs = this.#timing.nowMs() + ms;
    this.#stopTimer = startTimer(this.#timing, ms, () => this.#abort(deadlineExceeded(ms)));
  }

  disarm(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#endsAtMs = Number.POSITIVE_INFINITY;
  }

  /** Stops everything that still uses the signal. */
  end(): void {
    this.disarm();
    this.#parent?.removeEventListener("abort", this.#follow);
    if (this.#listeners.size > 0 || this.#controller !== undefined) {
      this.#abort(new BraidError("CANCELLED", "the call is over"));
    }
  }

  #abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners) listener(reason);
    this.#listeners.clear();
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
