/**
 * Every request passes here, whichever way it came: admitted or refused, given its time, counted.
 *
 * What may be under way at once is bounded in number and in bytes; beyond that a request is refused
 * with OVERLOADED before any work is done for it, so that an overloaded server answers fast and does
 * not fall over.
 */
import type { ByteBudget } from "../lib/byte-budget.ts";
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Random } from "../lib/random.ts";
import { CallerGone, failureOf } from "./error-map.ts";
import type { Outcome } from "./error-map.ts";

export interface RequestsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** A request has ended; `namespace` is as the caller gave it, and may not exist. */
  readonly observe?: (method: string, outcome: Outcome, namespace: string, ms: number) => void;
  readonly inFlightMax: number;
  /** Bytes of the requests under way. */
  readonly budget: ByteBudget;
}

/** The time of a request whose caller set none. */
const DEADLINE_DEFAULT_MS = 60_000;

const OVERLOADED_RETRY_MS = 250;

export class Requests {
  readonly #options: RequestsOptions;
  readonly #idPrefix: string;
  #idNext = 0;
  #inFlight = 0;
  #draining = false;
  #idle: (() => void)[] = [];

  constructor(options: RequestsOptions) {
    this.#options = options;
    this.#idPrefix = Buffer.from(options.random.bytes(6)).toString("hex");
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Begins a request. Never throws: whether it is let in is for `admit` to say.
   * `deadlineMs` is the caller's, if it set one, and `id` what it calls the request.
   */
  begin(method: string, deadlineMs: number | undefined, id: string | undefined): OpenRequest {
    const { clock, log, observe } = this.#options;
    const requestId = id ?? `${this.#idPrefix}-${(this.#idNext++).toString(36)}`;
    return new OpenRequest(method, requestId, deadlineMs, clock, {
      admit: (bytes) => this.#admit(bytes),
      admitMore: (bytes) => this.#admitMore(bytes),
      release: (bytes) => this.#release(bytes),
      ended: (outcome, namespace, ms) => observe?.(method, outcome, namespace, ms),
      failureOf: (error, facts) => failureOf(error, facts, log),
    });
  }

  /** From now on nothing is admitted; resolves when nothing is under way. */
  async drain(): Promise<void> {
    this.#draining = true;
    if (this.#inFlight === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #admit(bytes: number): void {
    if (this.#draining) {
      throw new ServiceError(
        "STORAGE_UNAVAILABLE",
        "the server is shutting down; ask another, or again soon",
      );
    }
    const { inFlightMax, budget } = this.#options;
    if (this.#inFlight >= inFlightMax || !budget.tryTake(bytes)) throw overloaded();
    this.#inFlight++;
  }

  #admitMore(bytes: number): void {
    if (!this.#options.budget.tryTake(bytes)) throw overloaded();
  }

  #release(bytes: number): void {
    this.#options.budget.give(bytes);
    this.#inFlight--;
    if (this.#inFlight > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

interface RequestHooks {
  admit(bytes: number): void;
  admitMore(bytes: number): void;
  release(bytes: number): void;
  ended(outcome: Outcome, namespace: string, ms: number): void;
  failureOf(
    error: unknown,
    facts: { id: string; method: string; signal: AbortSignal },
  ): ServiceError | undefined;
}

/** One request under way. Whoever began it ends it, once. */
export class OpenRequest {
  readonly method: string;
  readonly id: string;
  /** As the caller gave it, once it is known. */
  namespace = "";
  readonly #hooks: RequestHooks;
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #deadlineMs: number | undefined;
  readonly #controller = new AbortController();
  #cancelTimer: () => void = () => undefined;
  #admittedBytes = -1;
  #ended = false;

  constructor(
    method: string,
    id: string,
    deadlineMs: number | undefined,
    clock: Clock,
    hooks: RequestHooks,
  ) {
    this.method = method;
    this.id = id;
    this.#hooks = hooks;
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
    this.#startedMs = clock.monotonicMs();
    this.#startTimer(deadlineMs ?? DEADLINE_DEFAULT_MS);
  }

  /** Aborts when the time is over or the caller has gone. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Throws OVERLOADED, or that the time was over on arrival, before any work. */
  admit(bytes: number): void {
    this.signal.throwIfAborted();
    this.#hooks.admit(bytes);
    this.#admittedBytes = bytes;
  }

  /** The body has come and has so many bytes: charges what was not charged before. Throws OVERLOADED. */
  admitAll(bytes: number): void {
    if (bytes <= this.#admittedBytes) return;
    this.#hooks.admitMore(bytes - this.#admittedBytes);
    this.#admittedBytes = bytes;
  }

  /** The caller took what was sent: a stream has its time anew for each page. (gRPC keeps its own, for the whole call.) */
  progressed(): void {
    this.#cancelTimer();
    this.#startTimer(this.#deadlineMs ?? DEADLINE_DEFAULT_MS);
  }

  callerGone(): void {
    if (this.#ended) return;
    // A caller whose time is over leaves at that very moment: that is what ended it.
    const takenMs = this.#clock.monotonicMs() - this.#startedMs;
    const over = this.#deadlineMs !== undefined && takenMs >= this.#deadlineMs;
    this.#controller.abort(over ? timeOver(takenMs) : CALLER_GONE);
  }

  /** What to tell the caller; undefined if it has gone. */
  failureOf(error: unknown): ServiceError | undefined {
    return this.#hooks.failureOf(error, this);
  }

  /** Counts it and gives back what it held. `failure` as `failureOf` gave it, or "OK". */
  end(failure: ServiceError | undefined | "OK"): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cancelTimer();
    if (this.#admittedBytes >= 0) this.#hooks.release(this.#admittedBytes);
    const outcome = failure === "OK" ? "OK" : (failure?.code ?? "CANCELLED");
    this.#hooks.ended(outcome, this.namespace, this.#clock.monotonicMs() - this.#startedMs);
  }

  /** Ends it uncounted: only its id was of use. */
  forget(): void {
    this.#ended = true;
    this.#cancelTimer();
  }

  #startTimer(ms: number): void {
    const over = (): void => this.#controller.abort(timeOver(ms));
    if (ms <= 0) {
      over();
      return;
    }
    // Timers hold at most 2^31 milliseconds; a longer deadline is none.
    this.#cancelTimer = this.#clock.after(Math.min(ms, 2 ** 31 - 1), over);
  }
}

/** Made once: an error is made with its stack each time. */
const CALLER_GONE = new CallerGone();

function overloaded(): ServiceError {
  return new ServiceError(
    "OVERLOADED",
    "the server has as many requests under way as it can take; repeat after the hint, with fewer at once",
    { retryAfterMs: OVERLOADED_RETRY_MS },
  );
}

function timeOver(ms: number): ServiceError {
  return new ServiceError(
    "DEADLINE_EXCEEDED",
    `the request's ${Math.round(ms)} ms were over before it was done; allow more time, ask for less, or set allowPartial`,
  );
}
