/**
 * Whatever went wrong, as what the caller is told.
 *
 * A `ServiceError` is told as it is. A caller that went away is told nothing, and nothing is logged.
 * Anything else is a bug: INTERNAL, with an id that is in the log beside what really happened.
 */
import { CODES, ServiceError } from "../lib/errors.ts";
import type { Code } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";

/** Why a request was aborted when its caller left before the answer. */
export class CallerGone extends Error {
  constructor() {
    super("the caller went away");
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

/** What to tell the caller; undefined if there is none any more. */
export function failureOf(error: unknown, facts: RequestFacts, log: Log): ServiceError | undefined {
  const { signal } = facts;
  if (signal.aborted && signal.reason instanceof CallerGone) return undefined;
  if (error instanceof ServiceError) {
    // These are the operator's business too, not only the caller's.
    if (error.code === "DATA_LOSS" || error.code === "INTERNAL") {
      log.error({ requestId: facts.id, method: facts.method, err: error }, "a request failed");
    }
    return error;
  }
  // Work that was stopped may say so in its own words; the reason is what stopped it.
  if (signal.aborted && signal.reason instanceof ServiceError) return signal.reason;
  log.error({ requestId: facts.id, method: facts.method, err: error }, "a request failed by a bug");
  return new ServiceError(
    "INTERNAL",
    `the server failed; its log has the cause under request id ${facts.id}`,
    { details: { requestId: facts.id }, cause: error },
  );
}

/** How long a caller should wait, in milliseconds, where a repeat helps and the error does not say. */
const RETRY_MS_DEFAULT = 1_000;

/** When a repeat may help, in milliseconds; undefined if it will not. */
export function retryAfterMs(error: ServiceError): number | undefined {
  return CODES[error.code].retry ? (error.retryAfterMs ?? RETRY_MS_DEFAULT) : undefined;
}

/** The JSON form of an error: the body of an HTTP answer, or the last line of a stream. */
export function errorJson(error: ServiceError): string {
  return JSON.stringify({ code: error.code, message: error.message, details: error.details });
}
