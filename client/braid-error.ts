/**
 * What a call that did not succeed is told with.
 *
 * There are three outcomes, not two: done, failed, and unknown. A write whose answer was lost may or
 * may not have happened; repeating it is safe, as the same event twice is one event.
 */
export type Outcome = "failed" | "unknown";

export interface BraidErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>;
  /** The HTTP status, if a server answered. */
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly outcome?: Outcome;
  readonly cause?: unknown;
}

/**
 * `code` is one of the server's (`NAMESPACE_NOT_FOUND`, `OVERLOADED`, …), or one of the client's own:
 * `SERVER_UNREACHABLE` (no answer), `DEADLINE_EXCEEDED` (no answer in time), `ANSWER_INVALID` (not the
 * answer of a Braid server), `CANCELLED` (an event still in a batching writer when that was stopped),
 * `EVENTS_FAILED` (an `EventsFailedError`).
 */
export class BraidError extends Error {
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly outcome: Outcome;

  constructor(code: string, message: string, options: BraidErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "BraidError";
    this.code = code;
    this.details = options.details ?? {};
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
    this.outcome = options.outcome ?? "failed";
  }

  /** All that is wrong with the request, one problem each; empty for other errors. */
  get problems(): readonly string[] {
    const { problems } = this.details;
    return Array.isArray(problems) ? problems.map(String) : [];
  }

  withOutcome(outcome: Outcome): BraidError {
    if (outcome === this.outcome) return this;
    const { details, status, retryAfterMs, cause } = this;
    const options = { details, status, retryAfterMs, outcome, cause };
    return new BraidError(this.code, this.message, options);
  }
}
