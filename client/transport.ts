/**
 * One call: sends it, retries it where that is safe, and explains a failure.
 *
 * The method's effect decides whether a retry is safe. Reads and writes of events are idempotent.
 * Creating or deleting a namespace is not: it is retried only if the server refused it before any
 * work.
 */
import { binaryCodec, NotConnectError } from "./binary-codec.ts";
import { BraidError } from "./braid-error.ts";
import type { Outcome } from "./braid-error.ts";
import type { CallOptions } from "./call-options.ts";
import { CallSignal } from "./call-signal.ts";
import type { Body, Codec } from "./codec.ts";
import type { HttpAnswer, SendHttp } from "./http.ts";
import { jsonCodec } from "./json-codec.ts";
import { isObject } from "./json-error.ts";
import type { Timing } from "./timing.ts";
import type { Retries } from "./retries.ts";

/** What a method does on the server, and so what a lost answer leaves unknown. */
export type Effect = "reads" | "writes" | "writes once";

export interface Method {
  readonly path: string;
  readonly effect: Effect;
  readonly stream?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TransportOptions {
  readonly url: string;
  readonly send: SendHttp;
  /** "auto": binary, and JSON if the server does not know it. */
  readonly protocol: "auto" | "binary" | "json";
  readonly headers: Readonly<Record<string, string>>;
  readonly deadlineMs: number;
  readonly retries: Retries;
  readonly timing: Timing;
}

export class Transport {
  readonly #options: TransportOptions;
  /** For reads and writes of events. */
  #codec: Codec;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#codec = options.protocol === "json" ? jsonCodec : binaryCodec;
  }

  get timing(): Timing {
    return this.#options.timing;
  }

  get retries(): Retries {
    return this.#options.retries;
  }

  /** How events travel now. */
  get codec(): Codec {
    return this.#codec;
  }

  deadlineMs(options: CallOptions): number {
    return options.deadlineMs ?? this.#options.deadlineMs;
  }

  /** Runs a call of events; once more in JSON if the server turns out not to speak Connect. */
  async inCodec<T>(run: (codec: Codec) => Promise<T>): Promise<T> {
    const codec = this.#codec;
    try {
      return await run(codec);
    } catch (error) {
      if (!this.fallsBack(error)) throw error;
      return run(this.#codec);
    }
  }

  /** Whether this error ended the use of binary; then the same call works in JSON. */
  fallsBack(error: unknown): boolean {
    if (!(error instanceof NotConnectError) || this.#options.protocol !== "auto") return false;
    this.#codec = jsonCodec;
    return true;
  }

  /**
   * The answer, decoded. Rejects with a BraidError, or with the reason of the caller's signal.
   */
  async call<T>(
    method: Method,
    codec: Codec,
    body: Body,
    decode: (bytes: Uint8Array) => T,
    options: CallOptions = {},
  ): Promise<T> {
    const scope = new CallSignal(this.timing, options.signal);
    let outcome: Outcome = "failed";
    try {
      scope.arm(this.deadlineMs(options));
      for (let attempt = 1; ; attempt++) {
        try {
          const answer = await this.open(method, codec, body, scope);
          const decoded = decode(await answer.body(codec.bytesMax));
          this.retries.succeeded();
          return decoded;
        } catch (thrown) {
          const error = this.explain(thrown, options.signal);
          if (error instanceof NotConnectError) throw error;
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
  async open(method: Method, codec: Codec, body: Body, scope: CallSignal): Promise<HttpAnswer> {
    const { path, stream = false } = method;
    const headers = {
      ...(stream ? codec.streamHeaders : codec.unaryHeaders),
      // Makes the server stop too, instead of working in vain.
      [codec.timeoutHeader]: String(Math.max(1, Math.ceil(scope.leftMs))),
      ...method.headers,
      ...this.#options.headers,
    };
    const answer = await this.#options.send({ path, headers, body }, scope);
    if (answer.status !== 200) throw codec.errorOf(answer, await answer.body(codec.bytesMax));
    codec.checkAnswer(answer, stream);
    return answer;
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
    scope.throwIfAborted();
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
    // Only sending and reading throw anything else, and only when the connection failed.
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
export function mayRepeat(error: BraidError, effect: Effect): boolean {
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

/**
 * Why the connection failed, and whether the request may have reached a server. Browsers do not
 * say; Node does.
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
