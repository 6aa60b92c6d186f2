/**
 * The errors of the client.
 *
 * A call has one of three outcomes: done, failed, or unknown. A write whose answer was lost may or
 * may not have happened. Repeating it is safe: the same event written twice is one event.
 */
import type { EventFailure } from "./messages.ts";

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
 * `code` is one of the server's (`NAMESPACE_NOT_FOUND`, `OVERLOADED`, …), or one of the client's
 * own: `SERVER_UNREACHABLE` (no answer), `DEADLINE_EXCEEDED` (no answer in time), `ANSWER_INVALID`
 * (not the answer of a Braid server), `CANCELLED` (an event still in a batching writer when that
 * was stopped), `EVENTS_FAILED` (an `EventsFailedError`).
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

  /** Everything that is wrong with the request, one problem each; empty for other errors. */
  get problems(): readonly string[] {
    const { problems } = this.details;
    if (typeof problems === "string") return [problems];
    return Array.isArray(problems) ? problems.map(String) : [];
  }

  withOutcome(outcome: Outcome): BraidError {
    if (outcome === this.outcome) return this;
    const { details, status, retryAfterMs, cause } = this;
    const options = { details, status, retryAfterMs, outcome, cause };
    return new BraidError(this.code, this.message, options);
  }
}

/**
 * A write of which the server took the request but not every event.
 * `code` is `EVENTS_FAILED`; each failure has the server's code (`EVENT_TOO_OLD`, `ID_BLOCKED`, …).
 */
export class EventsFailedError extends BraidError {
  /** By `index`, the event's place in the batch. Every other event was taken. */
  readonly failures: readonly EventFailure[];
  /** How many events the server took: durable, or queued if the write was. */
  readonly written: number;

  constructor(failures: readonly EventFailure[], written: number) {
    const unknown = failures.some(({ code }) => code === "OUTCOME_UNKNOWN");
    super("EVENTS_FAILED", describe(failures, written), {
      outcome: unknown ? "unknown" : "failed",
      details: { failures, written },
    });
    this.name = "EventsFailedError";
    this.failures = failures;
    this.written = written;
  }
}

function describe(failures: readonly EventFailure[], written: number): string {
  const counts = new Map<string, number>();
  for (const { code } of failures) counts.set(code, (counts.get(code) ?? 0) + 1);
  const codes = [...counts].map(([code, count]) => `${count} ${code}`).join(", ");
  const [first] = failures;
  const example = first === undefined ? "" : `; event ${first.index}: ${first.message}`;
  return `${failures.length} of ${failures.length + written} events failed (${codes})${example}`;
}
