/**
 * The one path of every call, in both protocols: admission, charging, deadline, queueing and
 * outcome.
 *
 * Limits come before work (rule C27). A call is admitted when its head has arrived: each connection
 * has a share, and slow senders make room for others. Its bytes are charged from their arrival
 * until its answer has left. Once its namespace is known, it needs a slot in that namespace's
 * share: one namespace can fill most of the server, but never all of it. Control methods have slots
 * of their own, and so have watchers, which stay. Reads wait in a `FairQueue`.
 */
import type { OutgoingHttpHeaders } from "node:http";
import type { ByteBudget } from "../lib/byte-budget.ts";
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import type { FairQueue } from "../lib/fair-queue.ts";
import type { Log } from "../lib/log.ts";
import { Problems } from "../lib/problems.ts";
import type { Random } from "../lib/random.ts";
import type { Span, Tracer } from "../lib/tracer.ts";
import { callerOf, OPERATOR_HEADER } from "./caller.ts";
import type { Caller } from "./caller.ts";
import { CallerGone, failureOf } from "./error-map.ts";
import type { Outcome } from "./error-map.ts";
import type { Answer, Method, StreamRequest, UnaryRequest } from "./methods/method.ts";
import { callerRequestId, REQUEST_ID_HEADER } from "./request-id.ts";
import { beginSpan, endSpan } from "./call-span.ts";
import { PeerGone } from "./transport/exchange.ts";
import type { Exchange } from "./transport/exchange.ts";

export interface CallsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The number of slots: data methods that run or wait to run. */
  readonly inFlightMax: number;
  /** The number of calls that last until their caller leaves. Default: 100. */
  readonly watchersMax?: number;
  /** Bytes of requests and answers in memory. */
  readonly budget: ByteBudget;
  readonly reads: FairQueue;
  /** How long a read of that namespace may wait in the queue. */
  readonly readWaitMsMax: (namespace: string) => number;
  readonly namespaceExists: (namespace: string) => boolean;
  /** Records each call that ends; undefined if nobody wants traces. */
  readonly tracer?: Tracer | undefined;
  /**
   * Called once per call, when it is over. `namespace` is as the caller gave it and may not exist.
   */
  readonly observe?: (method: string, outcome: Outcome, namespace: string, ms: number) => void;
}

/** The deadline of a call whose caller set none. */
const DEADLINE_DEFAULT_MS = 60_000;
const OVERLOADED_RETRY_MS = 250;
const WATCHERS_MAX = 100;
/** Watchers stay: a place becomes free now and then. */
const WATCHERS_RETRY_MS = 5_000;
/** Slots that only control methods may take. */
const CONTROL_RESERVE = 64;
/**
 * A namespace may hold this many times the slots that are still free. Alone it gets four fifths of
 * all slots; two that want everything get four ninths each. Some slots are always free for a
 * namespace that has none yet.
 */
const SHARE_FACTOR = 4;
/** When no slot is left, a request that has been arriving for longer than this loses its slot. */
const SLOW_SENDER_MS = 1_000;
/**
 * The server cuts off an answer of which the peer has taken nothing for this long. A stream gets
 * longer while slots and memory are free.
 */
const STALL_MS = 10_000;
const STREAM_STALL_MS = 60_000;
const WATCH_MS = 1_000;
/** Exchanges that are no calls. A caller may keep health's `Watch` open for ever. */
const ASIDES_MAX = 256;

/** Namespaces that do not exist have one share together. */
const UNKNOWN_NAMESPACE = "";

export class Calls {
  readonly #options: CallsOptions;
  readonly #idPrefix: string;
  readonly #open = new Set<Call>();
  /** Exchanges that are no calls, oldest first. */
  readonly #asides = new Set<Exchange>();
  /** Calls whose request has not completely arrived, oldest first. */
  readonly #receiving = new Set<Call>();
  readonly #shares = new Map<string, number>();
  #idNext = 0;
  #data = 0;
  #control = 0;
  #watchers = 0;
  #draining = false;
  #idle: (() => void)[] = [];

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#idPrefix = Buffer.from(options.random.bytes(6)).toString("hex");
  }

  get inFlight(): number {
    return this.#data + this.#control + this.#watchers;
  }

  /** Calls that last until their caller leaves. */
  get watchers(): number {
    return this.#watchers;
  }

  /** Slots that namespaces hold. */
  get sharesHeld(): number {
    return [...this.#shares.values()].reduce((sum, held) => sum + held, 0);
  }

  /**
   * Begins a call. Never throws: `admit` decides about it. `deadlineMs` is the caller's, if it set
   * one; NaN if it is malformed.
   */
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

  /**
   * Watches over an exchange that is no call: a page, health, reflection, a refusal. It needs no
   * slot, so that a full server still answers it. It is cut off if it stalls or if its connection
   * has too many, and the oldest one is if there are too many in all.
   */
  aside(exchange: Exchange): boolean {
    const { connection } = exchange;
    if (!connection.tryBeginAside()) {
      exchange.cut();
      return false;
    }
    const [oldest] = this.#asides;
    if (oldest !== undefined && this.#asides.size >= ASIDES_MAX) oldest.cut();
    this.#asides.add(exchange);
    exchange.onClosed(() => {
      this.#asides.delete(exchange);
      connection.endedAside();
    });
    return true;
  }

  /** Admits nothing from now on. Resolves when no call is in flight. */
  async drain(): Promise<void> {
    this.#draining = true;
    if (this.inFlight === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Cuts off stalled answers until the signal aborts. Never rejects. */
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
    for (const exchange of this.#asides) if (exchange.stalledMs >= STALL_MS) exchange.cut();
  }

  admit(call: Call): void {
    if (this.#draining) {
      throw new ServiceError(
        "STORAGE_UNAVAILABLE",
        "the server is shutting down; use another server, or try again soon",
      );
    }
    const { connection } = call.exchange;
    if (connection.reserved && !call.control) {
      throw overloaded("the server has reached its limit of connections; reuse one that is open");
    }
    if (!call.control && this.#data >= this.#options.inFlightMax && !this.#shedSlowest()) {
      throw overloaded("the server has reached its limit of requests in flight");
    }
    const { watchersMax = WATCHERS_MAX } = this.#options;
    if (call.lasting && this.#watchers >= watchersMax) throw tooManyWatchers(watchersMax);
    if (call.control && !call.lasting && this.#control >= CONTROL_RESERVE) {
      throw overloaded("the server has reached its limit of control requests in flight");
    }
    if (!connection.tryBegin()) {
      throw overloaded("this connection has reached its limit of requests in flight");
    }
    if (call.lasting) this.#watchers++;
    else if (call.control) this.#control++;
    else this.#data++;
    this.#receiving.add(call);
  }

  /**
   * Gives a fully received call a slot in its namespace's share. Throws OVERLOADED if the share is
   * used up.
   */
  enter(call: Call, namespace: string): string | undefined {
    this.#receiving.delete(call);
    if (call.control) return undefined;
    const key = this.#options.namespaceExists(namespace) ? namespace : UNKNOWN_NAMESPACE;
    const held = this.#shares.get(key) ?? 0;
    const free = this.#options.inFlightMax - this.#data;
    if (held >= SHARE_FACTOR * (free + 1)) {
      throw overloaded(`namespace ${namespace} has used up its share of the requests in flight`);
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
    if (call.lasting) this.#watchers--;
    else if (call.control) this.#control--;
    else this.#data--;
    if (this.inFlight > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Ends the request that has been arriving longest, if it is slow. Returns false if none is. */
  #shedSlowest(): boolean {
    const [slowest] = this.#receiving;
    if (slowest === undefined || slowest.ageMs < SLOW_SENDER_MS) return false;
    this.#receiving.delete(slowest);
    slowest.abandon(overloaded("the request arrived too slowly for a busy server"));
    return true;
  }
}

/** One call in flight. */
export class Call {
  readonly exchange: Exchange;
  readonly id: string;
  readonly clock: Clock;
  /** As the call claims. */
  readonly caller: Caller;
  readonly control: boolean;
  readonly streams: boolean;
  readonly lasting: boolean;
  /** What goes before the answer, as headers. */
  readonly head: OutgoingHttpHeaders = {};
  /** What follows the answer, where the protocol can send it. */
  readonly trailers: OutgoingHttpHeaders = {};
  /** What is wrong with the headers. The method adds the problems of the request. */
  readonly problems = new Problems();
  readonly #calls: Calls;
  readonly #options: CallsOptions;
  readonly #method: Method;
  readonly #startedMs: number;
  readonly #deadlineMs: number | undefined;
  readonly #controller = new AbortController();
  readonly #span: Span | undefined;
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
    this.lasting = method.kind === "stream" && method.lasting === true;
    this.#deadlineMs = this.#soundDeadline(deadlineMs);
    this.#startedMs = options.clock.monotonicMs();
    // A call that stays would be a trace without an end.
    this.#span = this.lasting ? undefined : beginSpan(options.tracer, exchange, method, id);
    this.#startTimer(this.#deadlineMs ?? DEADLINE_DEFAULT_MS);
  }

  /** Aborts when the deadline passes or the caller leaves. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get ageMs(): number {
    return this.clock.monotonicMs() - this.#startedMs;
  }

  /**
   * Throws OVERLOADED, or DEADLINE_EXCEEDED if the deadline has passed already, before any work.
   */
  admit(): void {
    this.signal.throwIfAborted();
    this.#mustNotBeOver();
    this.#calls.admit(this);
    this.#admitted = true;
  }

  /**
   * Charges bytes until the call is over. Throws OVERLOADED if there is no room, PeerGone if the
   * call is over.
   */
  take(bytes: number): void {
    this.#mustNotBeOver();
    const { connection } = this.exchange;
    if (!connection.tryTake(bytes)) {
      throw overloaded("this connection has reached its limit of memory");
    }
    if (!this.#options.budget.tryTake(bytes)) {
      connection.give(bytes);
      throw overloaded("the server has reached its limit of memory for requests");
    }
    this.#bytes += bytes;
  }

  /**
   * Charges an answer. Never refuses: the work is done, and the number of slots bounds what waits.
   */
  takeAnswer(bytes: number): void {
    if (this.#over) return;
    this.exchange.connection.force(bytes);
    this.#options.budget.force(bytes);
    this.#bytes += bytes;
  }

  /** Releases the bytes of a page that has left. */
  giveAnswer(bytes: number): void {
    if (!this.#over) this.#give(bytes);
  }

  /**
   * Runs a decoded request when the queue lets it. Rejects at the deadline, whatever the work does.
   */
  async run(request: UnaryRequest | Promise<UnaryRequest>): Promise<Answer> {
    const understood = await this.#understood(request);
    return this.#race(this.#inQueue(() => this.#inSpan(() => understood.run(this.signal))));
  }

  /** Reads the pages of a stream; each page waits in the queue again. */
  async *stream(
    request: StreamRequest | Promise<StreamRequest>,
  ): AsyncGenerator<Answer, void, undefined> {
    const understood = await this.#understood(request);
    const pages = understood.run(this.signal)[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await this.#race(this.#inQueue(() => this.#inSpan(() => pages.next())));
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      // A stream that ends early must stop the read behind it.
      void Promise.resolve(pages.return?.()).catch(() => undefined);
    }
  }

  /** The caller took a page: the deadline of a stream starts again with each page. */
  progressed(): void {
    this.#cancelTimer();
    this.#startTimer(this.#deadlineMs ?? DEADLINE_DEFAULT_MS);
  }

  succeeded(): void {
    this.#outcome = "OK";
  }

  /** Returns the error to send to the caller; undefined if the caller has left. */
  failed(error: unknown): ServiceError | undefined {
    const cause = error instanceof PeerGone ? CALLER_GONE : error;
    if (cause === CALLER_GONE) this.#controller.abort(CALLER_GONE);
    const facts = { id: this.id, method: this.#method.desc.name, signal: this.signal };
    const failure = failureOf(cause, facts, this.#options.log);
    this.#outcome = failure?.code ?? "CANCELLED";
    // Work that continues after its call was answered must stop.
    this.#controller.abort(failure ?? CALLER_GONE);
    return failure;
  }

  /** Ends a call whose request is still arriving. */
  abandon(error: ServiceError): void {
    this.#controller.abort(error);
  }

  /** The exchange is closed: counts the call and releases all it holds. */
  closed(complete: boolean): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelTimer();
    if (!complete) this.#controller.abort(this.#lateReason());
    this.#give(this.#bytes);
    if (this.#admitted) this.#calls.release(this, this.#share);
    const outcome = this.#outcome ?? "CANCELLED";
    endSpan(this.#span, outcome, this.#namespace);
    this.#options.observe?.(this.#method.desc.name, outcome, this.#namespace, this.ageMs);
  }

  /** A caller with a deadline leaves at the deadline: then the deadline is what ended the call. */
  #lateReason(): Error {
    const over = this.#deadlineMs !== undefined && this.ageMs >= this.#deadlineMs;
    return over ? this.#timeOver(this.ageMs) : CALLER_GONE;
  }

  async #understood<R extends UnaryRequest | StreamRequest>(request: R | Promise<R>): Promise<R> {
    const understood = await request;
    this.#mustNotBeOver();
    this.#namespace = understood.namespace;
    this.#share = this.#calls.enter(this, understood.namespace);
    return understood;
  }

  /** What a call takes after it was closed would never be released. */
  #mustNotBeOver(): void {
    if (this.#over) throw new PeerGone();
  }

  async #inQueue<T>(task: () => Promise<T>): Promise<T> {
    if (this.#method.reads !== true) return task();
    const { reads, readWaitMsMax } = this.#options;
    const waitMsMax = readWaitMsMax(this.#namespace);
    const beganMs = this.ageMs;
    const begin = (): Promise<T> => {
      this.#span?.set({ "braid.queue_ms": this.ageMs - beganMs });
      return task();
    };
    const done = await reads.run(this.#share ?? "", waitMsMax, this.signal, begin);
    if (done === undefined) throw overloaded("the read would wait too long in the queue");
    return done.result;
  }

  /** What the task begins belongs to the span of this call, whichever call has let it begin. */
  #inSpan<T>(task: () => Promise<T>): Promise<T> {
    return this.#span === undefined ? task() : this.#span.run(task);
  }

  /** Rejects as soon as the signal aborts, because some work does not stop at once. */
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

  /** A call with a malformed deadline is refused, together with its other problems. */
  #soundDeadline(ms: number | undefined): number | undefined {
    if (!Number.isNaN(ms)) return ms;
    this.problems.add(
      "the timeout of the call is malformed; give milliseconds (braid-timeout-ms: 5000, connect-timeout-ms: 5000) or a gRPC timeout (grpc-timeout: 5S)",
    );
    return undefined;
  }

  #startTimer(ms: number): void {
    const over = (): void => this.#controller.abort(this.#timeOver(ms));
    if (ms <= 0) {
      over();
      return;
    }
    // A timer takes at most 2^31 - 1 ms, about 25 days; a longer deadline ends then.
    this.#cancelTimer = this.clock.after(Math.min(ms, 2 ** 31 - 1), over);
  }

  #timeOver(ms: number): ServiceError {
    return this.#method.changes && this.#admitted
      ? new ServiceError(
          "OUTCOME_UNKNOWN",
          `the deadline of ${Math.round(ms)} ms passed before the answer; the change may or may not have happened: check, or repeat it`,
        )
      : new ServiceError(
          "DEADLINE_EXCEEDED",
          `the deadline of ${Math.round(ms)} ms passed; allow more time, ask for less, or set allowPartial`,
        );
  }
}

/** Created once, because creating an error captures a stack. */
const CALLER_GONE = new CallerGone();

function overloaded(why: string): ServiceError {
  return new ServiceError(
    "OVERLOADED",
    `${why}; retry after the given delay, with fewer requests at once`,
    {
      retryAfterMs: OVERLOADED_RETRY_MS,
    },
  );
}

function tooManyWatchers(max: number): ServiceError {
  return new ServiceError(
    "OVERLOADED",
    `the server has ${max} watchers already (server.watchers); use another server, end a watch, or ` +
      "call the method that returns the same every few seconds",
    { retryAfterMs: WATCHERS_RETRY_MS },
  );
}
