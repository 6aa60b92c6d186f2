/** The time a request has, as something to ask and as a signal. */
import type { Clock } from "./clock.ts";
import { ServiceError } from "./errors.ts";

export class Deadline {
  readonly #clock: Clock;
  readonly #endsAtMs: number;
  readonly #controller = new AbortController();
  readonly #stop = new AbortController();
  readonly signal: AbortSignal;

  /** Ends after `ms`, or with `parent` (a caller that went away). */
  constructor(clock: Clock, ms: number, parent: AbortSignal | undefined) {
    this.#clock = clock;
    this.#endsAtMs = clock.monotonicMs() + ms;
    this.signal = parent
      ? AbortSignal.any([parent, this.#controller.signal])
      : this.#controller.signal;
    void clock.sleep(ms, this.#stop.signal).then(() => {
      if (!this.#stop.signal.aborted) this.#controller.abort(deadlineExceeded(ms));
    });
  }

  leftMs(): number {
    return this.#endsAtMs - this.#clock.monotonicMs();
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }
}

function deadlineExceeded(ms: number): ServiceError {
  return new ServiceError(
    "DEADLINE_EXCEEDED",
    `the request's ${Math.round(ms)} ms were over before it was done; allow more time, ask for less, or set allowPartial`,
  );
}
