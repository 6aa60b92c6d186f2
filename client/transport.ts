/**
 * One call over HTTP/JSON: sends it, retries it where that is safe, and explains a failure.
 *
 * The method's effect decides whether a retry is safe. Reads and writes of events are idempotent.
 * Creating or deleting a namespace is not: it is retried only if the server refused it before any
 * work.
 */
import { BraidError } from "./braid-error.ts";
import type { Outcome } from "./braid-error.ts";
import { CallSignal } from "./call-signal.ts";
import type { Timing } from "./timing.ts";
import type { Retries } from "./retries.ts";

/** What a method does on the server, and so what a lost answer leaves unknown. */
export type Effect = "reads" | "writes" | "writes once";

export interface Method {
  readonly path: string;
  readonly effect: Effect;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** The longest wait for an answer, retries included; for a stream, for its next page. */
  readonly deadlineMs?: number | undefined;
}

export interface TransportOptions {
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly headers: Readonly<Record<string, string>>;
  readonly deadlineMs: number;
  readonly retries: Retries;
  readonly timing: Timing;
}

export class Transport {
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  get timing(): Timing {
    return this.#options.timing;
  }

  get retries(): Retries {
    return this.#options.retries;
  }

  deadlineMs(options: CallOptions): number {
    return options.deadlineMs ?? this.#options.deadlineMs;
  }

  /** The parsed answer. Rejects with a BraidError, or with the reason of the caller's signal. */
  async call(
    method: Method,
    body: string | Uint8Array<ArrayBuffer>,
    options: CallOptions = {},
  ): Promise<unknown> {
    const scope = new CallSignal(this.timing, options.signal);
    let outcome: Outcome = "failed";
    try {
      scope.arm(this.deadlineMs(options));
      for (let attempt = 1; ; attempt++) {
        try {
          const response = await this.open(method, body, scope);
          const answer: unknown = await readJson(response);
          this.retries.succeeded();
          return answer;
        } catch (thrown) {
          const error = this.explain(thrown, options.signal);
          // One lost answer is enough: a later refusal says nothing about the earlier try.
          if (method.effect !== "reads" && error.outcome === "unknown") outcome = "unknown";
          await this.waitToRepeat(error.withOutcome(outcome), method, attempt, scope);
        }
      }
    } finally {
      scope.end();
    }
  }

  /** An answer whose body is not read yet. Rejects if the server refused, without a retry. */
  async open(
    method: Method,
    body: string | Uint8Array<ArrayBuffer>,
    scope: CallSignal,
  ): Promise<Response> {
    const { url, headers } = this.#options;
    const { signal } = scope;
    signal.throwIfAborted();
    const response = await this.#options.fetch(`${url}/${method.path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        // Makes the server stop too, instead of working in vain.
        "braid-timeout-ms": String(Math.max(1, Math.ceil(scope.leftMs))),
        ...method.headers,
        ...headers,
      },
      body,
      signal,
    });
    if (!response.ok) throw await refusal(response);
    return response;
  }

  /** Returns when it is time to try again, or throws the error. */
  async waitToRepeat(
    error: BraidError,
    method: Method,
    attempt: number,
    scope: CallSignal,
  ): Promise<void> {
    if (!mayRepeat(error, method.effect)) throw error;
    const delayMs = this.retries.delayMs(error, attempt, scope.leftMs);
    if (delayMs === undefined) throw error;
    await this.timing.sleep(delayMs, scope.signal);
    if (scope.signal.aborted) throw scope.signal.reason;
  }

  /**
   * What was thrown, as a BraidError. Throws the caller's reason instead if the caller stopped the
   * call.
   */
  explain(thrown: unknown, signal: AbortSignal | undefined): BraidError {
    if (signal?.aborted) throw signal.reason;
    if (thrown instanceof BraidError) {
      return thrown.code === "DEADLINE_EXCEEDED" ? thrown.withOutcome("unknown") : thrown;
    }
    // Only fetch and reading its body throw anything else, and only when the connection failed.
    const { url } = this.#options;
    const reason = connectionFailure(thrown);
    return new BraidError(
      "SERVER_UNREACHABLE",
      reason.reached
        ? `the connection to ${url} broke (${reason.text})`
        : `cannot reach ${url} (${reason.text}); is the server running, and is the address right?`,
      { outcome: reason.reached ? "unknown" : "failed", cause: thrown },
    );
  }
}

/** Whether the same call may succeed later and does no harm if it runs twice. */
function mayRepeat(error: BraidError, effect: Effect): boolean {
  // The client's own deadline has no status and leaves no time for a retry.
  const passing =
    error.code === "SERVER_UNREACHABLE" ||
    (error.status !== undefined && PASSING_STATUS.has(error.status));
  return passing && (effect !== "writes once" || error.status === 429);
}

/**
 * Not 409: the earlier pages of a read in CONFLICT may lack events. The caller starts that read
 * again without a token; continuing from the last page would leave those events out.
 */
const PASSING_STATUS = new Set([429, 502, 503, 504]);

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new BraidError(
      "ANSWER_INVALID",
      `${response.url} did not answer with JSON; is it a Braid server?`,
      { status: response.status, outcome: "unknown", cause },
    );
  }
}

async function refusal(response: Response): Promise<BraidError> {
  const { status } = response;
  const text = await response.text();
  const retryAfterMs = parseRetryAfter(response.headers);
  const body = parseErrorBody(text);
  if (body === undefined) {
    return new BraidError(
      status === 503 ? "STORAGE_UNAVAILABLE" : `HTTP_${status}`,
      `the answer was ${status} ${response.statusText}; is this the address of a Braid server?`,
      { status, retryAfterMs, outcome: status >= 500 ? "unknown" : "failed" },
    );
  }
  return errorFromBody(body, status, retryAfterMs);
}

export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export function errorFromBody(
  body: ErrorBody,
  status: number | undefined,
  retryAfterMs: number | undefined,
): BraidError {
  const outcome = MAY_HAVE_HAPPENED.has(body.code) ? "unknown" : "failed";
  const { details } = body;
  return new BraidError(body.code, body.message, { details, status, retryAfterMs, outcome });
}

/** Codes that, for a write, do not say that nothing was stored. */
const MAY_HAVE_HAPPENED = new Set([
  "OUTCOME_UNKNOWN",
  "DEADLINE_EXCEEDED",
  "INTERNAL",
  "DATA_LOSS",
]);

/** The JSON of an error; undefined if it is something else. */
export function asErrorBody(value: unknown): ErrorBody | undefined {
  if (!isObject(value)) return undefined;
  const { code, message, details } = value;
  if (typeof code !== "string" || typeof message !== "string") return undefined;
  return { code, message, details: isObject(details) ? details : {} };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseErrorBody(text: string): ErrorBody | undefined {
  try {
    return asErrorBody(JSON.parse(text));
  } catch {
    // Not JSON, such as a proxy's page: the status is all there is.
    return undefined;
  }
}

/** Seconds, or a date, which is compared with the server's clock and not with this one. */
function parseRetryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1000;
  const wait = Date.parse(text) - Date.parse(headers.get("date") ?? "");
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/**
 * Why fetch failed, and whether the request may have reached a server. Browsers do not say; Node
 * does.
 */
function connectionFailure(thrown: unknown): { reached: boolean; text: string } {
  const cause = thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown;
  const code = isObject(cause) && typeof cause["code"] === "string" ? cause["code"] : undefined;
  const text = code ?? (cause instanceof Error ? cause.message : String(cause));
  return { reached: code === undefined || !NEVER_REACHED.has(code), text };
}

const NEVER_REACHED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);
