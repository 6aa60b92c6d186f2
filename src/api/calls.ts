/**
 * Every call passes here, whichever protocol it came by: admitted or refused, charged, given its time, its turn and its
 * outcome.
 *
 * Limits come before work (rule C27). A call is admitted when its head has come: its connection has a share, and slow
 * senders make room for others. Its bytes are charged as they come and until its answer has left. When it is known
 * which namespace it is for, it needs a place in that namespace's share: one namespace can fill most of the server,
 * never all of it. Control methods have places of their own. Reads run in turns (`FairQueue`).
 */
import type { ByteBudget } from "../lib/byte-budget.ts";
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import type { FairQueue } from "../lib/fair-queue.ts";
import type { Log } from "../lib/log.ts";
import type { Random } from "../lib/random.ts";
import { callerOf, OPERATOR_HEADER } from "./caller.ts";
import type { Caller } from "./caller.ts";
import { CallerGone, failureOf } from "./error-map.ts";
import type { Outcome } from "./error-map.ts";
import type { Answer, Method, StreamRequest, UnaryRequest } from "./methods/method.ts";
import { REQUEST_ID_HEADER } from "./protocols/grpc-status.ts";
import { callerRequestId } from "./request-id.ts";
import { PeerGone } from "./transport/exchange.ts";
import type { Exchange } from "./transport/exchange.ts";

export interface CallsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Places of data methods that run or wait to run. */
  readonly inFlightMax: number;
  /** Bytes of requests and answers in memory. */
  readonly budget: ByteBudget;
  readonly reads: FairQueue;
  /** How long a read of that namespace may wait for its turn. */
  readonly readWaitMsMax: (namespace: string) => number;
  readonly namespaceExists: (namespace: string) => boolean;
  /** Each call, once, when it is over; `namespace` is as the caller gave it, and may not exist. */
  readonly observe?: (method: string, outcome: Outcome, namespace: string, ms: number) => void;
}

/** The time of a call whose caller set none. */
const DEADLINE_DEFAULT_MS = 60_000;
const OVERLOADED_RETRY_MS = 250;
/** Places that only control methods may take. */
const CONTROL_RESERVE = 64;
/**
 * A namespace may have this many times the places that are still free. Alone it comes to four fifths of all; of two
 * that want everything each comes to four ninths, and some are always free for one that comes new.
 */
const SHARE_FACTOR = 4;
/** Where there is no place left, a sender that took longer than this gives up its own. */
const SLOW_SENDER_MS = 1_000;
/** An answer of which the peer has taken nothing for this long is cut off; a stream has longer while there is room. */
const STALL_MS = 10_000;
const STREAM_STALL_MS = 60_000;
const WATCH_MS = 1_000;

/** Names that do not exist share one share. */
const UNKNOWN_NAMESPACE = "";

export class Calls {
  readonly #options: CallsOptions;
  readonly #idPrefix: string;
  readonly #open = new Set<Call>();
  /** Whose request has not come whole yet, the oldest first. */
  readonly #receiving = new Set<Call>();
  readonly #shares = new Map<string, number>();
  #idNext = 0;
  #data = 0;
  #control = 0;
  #draining = false;
  #idle: (() => void)[] = [];

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#idPrefix = Buffer.from(options.random.bytes(6)).toString("hex");
  }

  get inFlight(): number {
    return this.#data + this.#control;
  }

  /** Begins a call. Never throws: `admit` says whether it is let in. `deadlineMs`: the caller's, if it set one. */
  begin(exchange: Exchange, method: Method, deadlineMs: number | undefined): Call {
    const given = callerRequestId(exchange.headers[REQUEST_ID_HEADER]);
    const id = given ?? `${this.#idPrefix}-${(this.#idNext++).toString(36)}`;
    const call = new Call(this, this.#options, exchange, method, id, deadlineMs);
    this.#open.add(call);
    exchange.onClosed((complete) => {
      this.#open.delete(call);
      call.closed(complete);
    });
    return call;
  }

  /** From now on nothing is admitted; resolves when nothing is under way. */
  async drain(): Promise<void> {
    this.#draining = true;
    if (this.inFlight === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Cuts off answers that nobody takes, until the signal aborts. Never rejects. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(WATCH_MS, signal);
      this.cutStalled();
    }
  }

  cutStalled(): void {
    const short = this.#data >= this.#options.inFlightMax / 2 || this.#options.budget.share > 0.5;
    for (const call of this.#open) {
      const limitMs = call.streams && !short ? STREAM_STALL_MS : STALL_MS;
      if (call.exchange.stalledMs >= limitMs) call.exchange.cut();
    }
  }

  admit(call: Call): void {
    if (this.#draining) {
      throw new ServiceError(
        "STORAGE_UNAVAILABLE",
        "the server is shutting down; ask another, or again soon",
      );
    }
    const { connection } = call.exchange;
    if (connection.reserved && !call.control) {
      throw overloaded("the server has as many connections as it can take; use one you have");
    }
    if (!call.control && this.#data >= this.#options.inFlightMax && !this.#shedSlowest()) {
      throw overloaded("the server has as many requests under way as it can take");
    }
    if (call.control && this.#control >= CONTROL_RESERVE) {
      throw overloaded("the server has as many control requests under way as it can take");
    }
    if (!connection.tryBegin()) {
      throw overloaded("this connection has as many requests under way as one may have");
    }
    if (call.control) this.#control++;
    else this.#data++;
    this.#receiving.add(call);
  }

  /** The request has come whole, and is for this namespace. Throws OVERLOADED if that has its share. */
  enter(call: Call, namespace: string): string | undefined {
    this.#receiving.delete(call);
    if (call.control) return undefined;
    const key = this.#options.namespaceExists(namespace) ? namespace : UNKNOWN_NAMESPACE;
    const held = this.#shares.get(key) ?? 0;
    const free = this.#options.inFlightMax - this.#data;
    if (held >= SHARE_FACTOR * (free + 1)) {
      throw overloaded(`namespace ${namespace} has its share of the requests under way`);
    }
    this.#shares.set(key, held + 1);
    return key;
  }

  release(call: Call, share: string | undefined): void {
    this.#receiving.delete(call);
    call.exchange.connection.ended();
    if (share !== undefined) {
      const left = (this.#shares.get(share) ?? 1) - 1;
      if (left === 0) this.#shares.delete(share);
      else this.#shares.set(share, left);
    }
    if (call.control) this.#control--;
    else this.#data--;
    if (this.inFlight > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Ends the request that has been arriving for longest, if that is long. False if none has. */
  #shedSlowest(): boolean {
    const [slowest] = this.#receiving;
    if (slowest === undefined || slowest.ageMs < SLOW_SENDER_MS) return false;
    slowest.abandon(overloaded("the request arrived too slowly for a busy server"));
    return true;
  }
}

/** One call under way. */
export class Call {
  readonly exchange: Exchange;
  readonly id: string;
  readonly clock: Clock;
  /** As the call says it. */
  readonly caller: Caller;
  readonly control: boolean;
  readonly streams: boolean;
  readonly #calls: Calls;
  readonly #options: CallsOptions;
  readonly #method: Method;
  readonly #startedMs: number;
  readonly #deadlineMs: number | undefined;
  readonly #controller = new AbortController();
  #cancelTimer: () => void = () => undefined;
  #namespace = "";
  #admitted = false;
  #share: string | undefined;
  #bytes = 0;
  #outcome: Outcome | undefined;
  #over = false;

  constructor(
    calls: Calls,
    options: CallsOptions,
    exchange: Exchange,
    method: Method,
    id: string,
    deadlineMs: number | undefined,
  ) {
    this.#calls = calls;
    this.#options = options;
    this.exchange = exchange;
    this.#method = method;
    this.id = id;
    this.clock = options.clock;
    this.caller = callerOf(exchange.headers[OPERATOR_HEADER]);
    this.control = method.desc.parent.name === "ControlService";
    this.streams = method.kind === "stream";
    this.#deadlineMs = deadlineMs;
    this.#startedMs = options.clock.monotonicMs();
    this.#startTimer(deadlineMs ?? DEADLINE_DEFAULT_MS);
  }

  /** Aborts when the time is over or the caller has gone. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get ageMs(): number {
    return this.clock.monotonicMs() - this.#startedMs;
  }

  /** Throws OVERLOADED, or that the time was over on arrival, before any work. */
  admit(): void {
    this.signal.throwIfAborted();
    this.#calls.admit(this);
    this.#admitted = true;
  }

  /** Charges bytes that are held until the call is over. Throws OVERLOADED if there is no room. */
  take(bytes: number): void {
    const { connection } = this.exchange;
    if (!connection.tryTake(bytes)) {
      throw overloaded("this connection holds as much memory as one may hold");
    }
    if (!this.#options.budget.tryTake(bytes)) {
      connection.give(bytes);
      throw overloaded("the server holds as much memory for requests as it can");
    }
    this.#bytes += bytes;
  }

  /** Charges an answer. Never refused: the work is done, and what is waiting is bounded by the places there are. */
  takeAnswer(bytes: number): void {
    this.exchange.connection.force(bytes);
    this.#options.budget.force(bytes);
    this.#bytes += bytes;
  }

  /** A page of a stream has left. */
  giveAnswer(bytes: number): void {
    this.#give(bytes);
  }

  /** Runs a request that was understood, in its turn. Rejects when the time is over, whatever the work does. */
  async run(request: UnaryRequest | Promise<UnaryRequest>): Promise<Answer> {
    const understood = await this.#understood(request);
    return this.#race(this.#inTurn(() => understood.run(this.signal)));
  }

  /** The pages of a stream; each takes a turn of its own. */
  async *stream(
    request: StreamRequest | Promise<StreamRequest>,
  ): AsyncGenerator<Answer, void, undefined> {
    const understood = await this.#understood(request);
    const pages = understood.run(this.signal)[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await this.#race(this.#inTurn(() => pages.next()));
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      // One that was left early must not leave the read behind it running.
      void Promise.resolve(pages.return?.()).catch(() => undefined);
    }
  }

  /** The caller took what was sent: a stream has its time again for each page. */
  progressed(): void {
    this.#cancelTimer();
    this.#startTimer(this.#deadlineMs ?? DEADLINE_DEFAULT_MS);
  }

  succeeded(): void {
    this.#outcome = "OK";
  }

  /** What to tell the caller; undefined if it has gone. */
  failed(error: unknown): ServiceError | undefined {
    const cause = error instanceof PeerGone ? CALLER_GONE : error;
    if (cause === CALLER_GONE) this.#controller.abort(CALLER_GONE);
    const facts = { id: this.id, method: this.#method.desc.name, signal: this.signal };
    const failure = failureOf(cause, facts, this.#options.log);
    this.#outcome = failure?.code ?? "CANCELLED";
    // Work that goes on after its call was answered must stop.
    this.#controller.abort(failure ?? CALLER_GONE);
    return failure;
  }

  /** Ends a call whose request is still arriving. */
  abandon(error: ServiceError): void {
    this.#controller.abort(error);
  }

  /** Nothing of it is held any more: it is counted, and what it held is given back. */
  closed(complete: boolean): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelTimer();
    if (!complete) this.#controller.abort(this.#lateReason());
    this.#give(this.#bytes);
    if (this.#admitted) this.#calls.release(this, this.#share);
    const outcome = this.#outcome ?? "CANCELLED";
    this.#options.observe?.(this.#method.desc.name, outcome, this.#namespace, this.ageMs);
  }

  /** A caller whose time is over leaves at that very moment: that is what ended it. */
  #lateReason(): Error {
    const over = this.#deadlineMs !== undefined && this.ageMs >= this.#deadlineMs;
    return over ? this.#timeOver(this.ageMs) : CALLER_GONE;
  }

  async #understood<R extends UnaryRequest | StreamRequest>(request: R | Promise<R>): Promise<R> {
    const understood = await request;
    this.#namespace = understood.namespace;
    this.#share = this.#calls.enter(this, understood.namespace);
    return understood;
  }

  async #inTurn<T>(task: () => Promise<T>): Promise<T> {
    if (this.#method.reads !== true) return task();
    const { reads, readWaitMsMax } = this.#options;
    const waitMsMax = readWaitMsMax(this.#namespace);
    const done = await reads.run(this.#share ?? "", waitMsMax, this.signal, task);
    if (done === undefined) throw overloaded("reads would wait for too long");
    return done.result;
  }

  /** Some work does not stop when it is told to; its caller is answered all the same. */
  #race<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(signal.reason as Error);
      signal.addEventListener("abort", abort, { once: true });
      if (signal.aborted) abort();
      work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    });
  }

  #give(bytes: number): void {
    this.#bytes -= bytes;
    this.exchange.connection.give(bytes);
    this.#options.budget.give(bytes);
  }

  #startTimer(ms: number): void {
    if (Number.isNaN(ms)) {
      this.#controller.abort(
        new ServiceError("REQUEST_INVALID", "the call's timeout cannot be read"),
      );
      return;
    }
    const over = (): void => this.#controller.abort(this.#timeOver(ms));
    if (ms <= 0) {
      over();
      return;
    }
    // Timers hold at most 2^31 milliseconds; a longer deadline is none.
    this.#cancelTimer = this.clock.after(Math.min(ms, 2 ** 31 - 1), over);
  }

  #timeOver(ms: number): ServiceError {
    return this.#method.changes && this.#admitted
      ? new ServiceError(
          "OUTCOME_UNKNOWN",
          `the call's ${Math.round(ms)} ms were over before the answer; it may or may not have happened: look, or repeat it`,
        )
      : new ServiceError(
          "DEADLINE_EXCEEDED",
          `the call's ${Math.round(ms)} ms were over before it was done; allow more time, ask for less, or set allowPartial`,
        );
  }
}

/** Made once: an error is made with its stack each time. */
const CALLER_GONE = new CallerGone();

function overloaded(why: string): ServiceError {
  return new ServiceError("OVERLOADED", `${why}; repeat after the hint, with fewer at once`, {
    retryAfterMs: OVERLOADED_RETRY_MS,
  });
}
