/**
 * Turns anything that went wrong into the error that the caller gets.
 *
 * A `ServiceError` passes unchanged. If the caller has left, there is no error and no log line.
 * Everything else is a bug: INTERNAL, with a request id under which the log has the cause.
 */
import { CODES, ServiceError } from "../lib/errors.ts";
import type { Code } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";

/** The abort reason of a request whose caller left before the answer. */
export class CallerGone extends Error {
  constructor() {
    super("the caller has left");
    this.name = "CallerGone";
  }
}

/** How a request ended, for its metrics. */
export type Outcome = "OK" | "CANCELLED" | Code;

export interface RequestFacts {
  readonly id: string;
  readonly method: string;
  readonly signal: AbortSignal;
}

/** Returns the error for the caller; undefined if the caller has left. */
export function failureOf(error: unknown, facts: RequestFacts, log: Log): ServiceError | undefined {
  const { signal } = facts;
  if (signal.aborted && signal.reason instanceof CallerGone) return undefined;
  if (error instanceof ServiceError) {
    // These concern the operator too, not only the caller.
    if (error.code === "DATA_LOSS" || error.code === "INTERNAL") {
      log.error({ requestId: facts.id, method: facts.method, err: error }, "a request failed");
    }
    return error;
  }
  // Aborted work may fail with an error of its own; the abort reason is what the caller needs.
  if (signal.aborted && signal.reason instanceof ServiceError) return signal.reason;
  log.error({ requestId: facts.id, method: facts.method, err: error }, "a bug made a request fail");
  return new ServiceError(
    "INTERNAL",
    `the server failed; its log has the cause under request id ${facts.id}`,
    { details: { requestId: facts.id }, cause: error },
  );
}

/** The delay before a retry, in milliseconds, if the error can be retried and gives none. */
const RETRY_MS_DEFAULT = 1_000;

/**
 * The delay after which a retry may help, in milliseconds; undefined if it cannot help. A conflict
 * with what is stored lasts, unless the error itself says when it ends.
 */
export function retryAfterMs(error: ServiceError): number | undefined {
  if (!CODES[error.code].retry) return undefined;
  return error.retryAfterMs ?? (error.code === "CONFLICT" ? undefined : RETRY_MS_DEFAULT);
}

/** The JSON form of an error: the body of an HTTP answer, or the last line of a stream. */
export function errorJson(error: ServiceError): string {
  return JSON.stringify({ code: error.code, message: error.message, details: error.details });
}
