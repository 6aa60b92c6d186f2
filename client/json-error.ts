/** Errors as the server answers in JSON, and what a status says where there is no such error. */
import { BraidError } from "./braid-error.ts";
import type { HttpAnswer } from "./http.ts";

export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** `status` is undefined for an error in the middle of a stream. */
export function errorFromBody(
  body: ErrorBody,
  status: number | undefined,
  retryAfterMs: number | undefined,
): BraidError {
  const { code, message, details } = body;
  const outcome = MAY_HAVE_HAPPENED.has(code) ? "unknown" : "failed";
  return new BraidError(code, message, {
    details,
    status: CODE_STATUS[code] ?? status,
    retryAfterMs,
    outcome,
  });
}

/**
 * Their status in every protocol and place. Connect has one status for an overloaded server, which
 * may be asked again, and for a request that is too large, which may not; and a stream that fails
 * midway has sent its status already. CONFLICT has none here: it is never repeated.
 */
const CODE_STATUS: Readonly<Record<string, number>> = {
  OVERLOADED: 429,
  REQUEST_TOO_LARGE: 413,
  STORAGE_UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
};

/** Codes that, for a write, do not say that nothing was stored. */
const MAY_HAVE_HAPPENED = new Set([
  "OUTCOME_UNKNOWN",
  "DEADLINE_EXCEEDED",
  "INTERNAL",
  "DATA_LOSS",
]);

/** The error of an answer that does not say more than its status. */
export function unknownError(status: number, retryAfterMs: number | undefined): BraidError {
  return new BraidError(
    status === 503 ? "STORAGE_UNAVAILABLE" : `HTTP_${status}`,
    `the answer was HTTP ${status}; is this the address of a Braid server?`,
    { status, retryAfterMs, outcome: status >= 500 ? "unknown" : "failed" },
  );
}

/** The JSON of an error; undefined if it is something else. */
export function asErrorBody(value: unknown): ErrorBody | undefined {
  if (!isObject(value)) return undefined;
  const { code, message, details } = value;
  if (typeof code !== "string" || typeof message !== "string") return undefined;
  return { code, message, details: isObject(details) ? details : {} };
}

/** Undefined for what is not JSON, such as a proxy's page. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Seconds, or a date, which is compared with the server's clock and not with this one. */
export function retryAfterOf(answer: HttpAnswer): number | undefined {
  const text = answer.header("retry-after");
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1000;
  const wait = Date.parse(text) - Date.parse(answer.header("date") ?? "");
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
