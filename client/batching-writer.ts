/**
 * Writes many events in batches. A batch leaves when it has enough events or bytes, or when its
 * first event has waited long enough.
 *
 * Memory is bounded: `add` waits while more than `maxPendingBytes` are on their way. Every event
 * ends in one of two ways, counted as written or reported as a failure. Batches travel side by
 * side, so events may be written in another order than they were added; events are sorted by their
 * own time anyway.
 */
import { BraidError } from "./braid-error.ts";
import type { Body, Codec } from "./codec.ts";
import type { JsonEvent, NewEvent } from "./events.ts";
import { jsonCodec } from "./json-codec.ts";
import type { EventFailure } from "./messages.ts";
import type { Timing } from "./timing.ts";
import { startTimer } from "./timing.ts";

export interface WriterOptions<T> {
  readonly maxEvents?: number;
  readonly maxBytes?: number;
  /** How long an event may wait for others. */
  readonly maxDelayMs?: number;
  /** Bytes added and not yet answered. */
  readonly maxPendingBytes?: number;
  /** Requests at a time. */
  readonly concurrency?: number;
  /** The server acknowledges events on receipt instead of when they are durable. */
  readonly queued?: boolean;
  /**
   * Called for each event that was not written. Without it, the next `add`, `flush` or `close`
   * throws an AggregateError.
   */
  readonly onFailure?: (failure: WriteFailure<T>) => void;
  /** Stops the writer: an event without an answer fails as CANCELLED, with its outcome unknown. */
  readonly signal?: AbortSignal;
}

export interface WriteFailure<T> {
  readonly event: T;
  readonly error: BraidError;
  /** Whether the event itself was refused, or the request it was in. */
  readonly scope: "event" | "request";
}

/** Sends one request. */
export type SendBatch = (
  codec: Codec,
  body: Body,
) => Promise<{ readonly failures: readonly EventFailure[] }>;

/** What the writer needs of the transport. */
export interface WriterTransport {
  readonly timing: Timing;
  readonly codec: Codec;
  inCodec<R>(run: (codec: Codec) => Promise<R>): Promise<R>;
}

interface Entry<T> {
  readonly event: T;
  /** All entries of a batch have the same. */
  readonly codec: Codec;
  readonly bytes: Uint8Array;
}

export class BatchingWriter<T extends NewEvent | JsonEvent> {
  readonly #namespace: string;
  readonly #transport: WriterTransport;
  readonly #send: SendBatch;
  readonly #timing: Timing;
  readonly #options: WriterOptions<T>;
  readonly #maxEvents: number;
  readonly #maxBytes: number;
  readonly #maxPendingBytes: number;
  #freeRequests: number;
  readonly #waitingRequests: (() => void)[] = [];

  #batch: Entry<T>[] = [];
  #batchBytes = 0;
  #stopTimer: (() => void) | undefined;
  #pendingBytes = 0;
  readonly #waitingAdds: { bytes: number; enter: () => void }[] = [];
  readonly #underWay = new Set<Promise<void>>();
  #closed = false;
  #written = 0;
  #failed = 0;
  #errors: unknown[] = [];
  /** How many there were, those that were not kept included. */
  #errorCount = 0;

  constructor(
    namespace: string,
    transport: WriterTransport,
    send: SendBatch,
    options: WriterOptions<T>,
  ) {
    this.#namespace = namespace;
    this.#transport = transport;
    this.#send = send;
    this.#timing = transport.timing;
    this.#options = options;
    this.#maxEvents = options.maxEvents ?? 1000;
    this.#maxBytes = options.maxBytes ?? 4 * 1024 * 1024;
    this.#maxPendingBytes = options.maxPendingBytes ?? 32 * 1024 * 1024;
    this.#freeRequests = options.concurrency ?? 4;
  }

  /** Events the server took. */
  get written(): number {
    return this.#written;
  }

  /** Events that it did not take, or may not have taken. */
  get failed(): number {
    return this.#failed;
  }

  /**
   * Resolves when the event is in a batch: await it, or memory is not bounded. Throws,
   * without taking the event, if earlier events failed and there is no `onFailure`.
   */
  async add(event: T): Promise<void> {
    if (this.#closed) throw new TypeError("the writer is closed");
    this.#throwFailures();
    const entry = this.#encode(event);
    if (entry === undefined) return;
    const bytes = entry.bytes.length;
    if (this.#waitingAdds.length > 0 || !this.#hasRoom(bytes)) {
      // This call waits for the bytes of the open batch, so that batch must not wait for its delay.
      this.#dispatch();
      await new Promise<void>((resolve) => {
        const enter = (): void => {
          this.#pendingBytes += bytes;
          resolve();
        };
        this.#waitingAdds.push({ bytes, enter });
      });
    } else {
      this.#pendingBytes += bytes;
    }
    const other = this.#batch[0];
    if (other !== undefined && other.codec !== entry.codec) this.#dispatch();
    if (this.#batchBytes + bytes > this.#maxBytes) this.#dispatch();
    this.#batch.push(entry);
    this.#batchBytes += bytes + 1;
    if (this.#batch.length >= this.#maxEvents || this.#waitingAdds.length > 0) this.#dispatch();
    else if (this.#batch.length === 1) this.#startTimer();
  }

  /** Sends the open batch and waits until every event added so far has its answer. */
  async flush(): Promise<void> {
    this.#dispatch();
    await Promise.all(this.#underWay);
    this.#throwFailures();
  }

  /** Flushes and takes no more events. Calls of `add` that still wait for room enter first. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#waitingAdds.length > 0 || this.#batch.length > 0 || this.#underWay.size > 0) {
      this.#dispatch();
      await Promise.all(this.#underWay);
    }
    this.#throwFailures();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #hasRoom(bytes: number): boolean {
    return this.#pendingBytes === 0 || this.#pendingBytes + bytes <= this.#maxPendingBytes;
  }

  #startTimer(): void {
    const delayMs = this.#options.maxDelayMs ?? 20;
    this.#stopTimer = startTimer(this.#timing, delayMs, () => this.#dispatch());
  }

  #dispatch(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    if (this.#batch.length === 0) return;
    const entries = this.#batch;
    this.#batch = [];
    this.#batchBytes = 0;
    const sending = this.#sendInTurn(entries)
      .catch((error: unknown) => {
        this.#keepError(error);
      })
      .finally(() => {
        this.#underWay.delete(sending);
        for (const entry of entries) this.#pendingBytes -= entry.bytes.length;
        this.#letAddsIn();
      });
    this.#underWay.add(sending);
  }

  async #sendInTurn(entries: readonly Entry<T>[]): Promise<void> {
    if (this.#freeRequests > 0) this.#freeRequests -= 1;
    else await new Promise<void>((resolve) => this.#waitingRequests.push(resolve));
    try {
      await this.#deliver(entries);
    } finally {
      const next = this.#waitingRequests.shift();
      if (next === undefined) this.#freeRequests += 1;
      else next();
    }
  }

  async #deliver(entries: readonly Entry<T>[]): Promise<void> {
    let left = entries;
    for (let attempt = 1; left.length > 0; attempt++) {
      let failures: readonly EventFailure[];
      try {
        ({ failures } = await this.#request(left));
      } catch (thrown) {
        await this.#requestFailed(left, thrown);
        return;
      }
      const wrong = failures.find(({ index }) => left[index] === undefined);
      if (wrong !== undefined) {
        const message = `the answer is about event ${wrong.index} of ${left.length}`;
        const error = new BraidError("ANSWER_INVALID", message, { outcome: "unknown" });
        await this.#requestFailed(left, error);
        return;
      }
      this.#written += left.length - failures.length;
      left = this.#eventsFailed(left, failures, attempt);
      if (left.length > 0)
        await this.#timing.sleep(EVENT_RETRY_MS * 2 ** attempt, this.#options.signal);
    }
  }

  /** Reports the events that failed for good, and returns those worth another try. */
  #eventsFailed(
    entries: readonly Entry<T>[],
    failures: readonly EventFailure[],
    attempt: number,
  ): Entry<T>[] {
    const again: Entry<T>[] = [];
    for (const { index, code, message } of failures) {
      const entry = entries[index];
      if (entry === undefined) continue; // Checked by the caller.
      const passing = code === "OVERLOADED" || code === "OUTCOME_UNKNOWN";
      if (passing && attempt < EVENT_ATTEMPTS_MAX && !this.#options.signal?.aborted) {
        again.push(entry);
        continue;
      }
      const outcome = code === "OUTCOME_UNKNOWN" ? "unknown" : "failed";
      this.#report({
        event: entry.event,
        error: new BraidError(code, message, { outcome }),
        scope: "event",
      });
    }
    return again;
  }

  async #requestFailed(entries: readonly Entry<T>[], thrown: unknown): Promise<void> {
    const error =
      thrown instanceof BraidError
        ? thrown
        : new BraidError("CANCELLED", "the writer was stopped before the answer came", {
            outcome: "unknown",
            cause: thrown,
          });
    const byContent = error.code === "REQUEST_INVALID" || error.code === "REQUEST_TOO_LARGE";
    if (byContent && entries.length > 1) {
      // The server refuses a whole request for one event it cannot read, and applies nothing.
      // Halving finds that event and lets the others through.
      const middle = entries.length >>> 1;
      await this.#deliver(entries.slice(0, middle));
      await this.#deliver(entries.slice(middle));
      return;
    }
    const scope = byContent ? "event" : "request";
    for (const { event } of entries) this.#report({ event, error, scope });
  }

  #report(failure: WriteFailure<T>): void {
    this.#failed += 1;
    const { onFailure } = this.#options;
    if (onFailure === undefined) {
      this.#keepError(failure.error);
      return;
    }
    try {
      onFailure(failure);
    } catch (error) {
      // The events after this one are still reported; the caller sees this error from `flush`.
      this.#keepError(error);
    }
  }

  #keepError(error: unknown): void {
    this.#errorCount += 1;
    if (this.#errors.length < ERRORS_KEPT_MAX) this.#errors.push(error);
  }

  #throwFailures(): void {
    if (this.#errors.length === 0) return;
    const errors = this.#errors;
    const count = this.#errorCount;
    this.#errors = [];
    this.#errorCount = 0;
    const first = errors[0] instanceof Error ? `, the first: ${errors[0].message}` : "";
    throw new AggregateError(errors, `${count} failures of events in a batching writer${first}`);
  }

  #letAddsIn(): void {
    for (;;) {
      const first = this.#waitingAdds[0];
      if (first === undefined || !this.#hasRoom(first.bytes)) return;
      this.#waitingAdds.shift();
      first.enter();
    }
  }

  /** Undefined if it cannot be encoded; then it has failed and is reported. */
  #encode(event: T): Entry<T> | undefined {
    if ("json" in event) return { event, codec: jsonCodec, bytes: event.json };
    const { codec } = this.#transport;
    try {
      return { event, codec, bytes: codec.encodeEvent(event) };
    } catch (error) {
      if (!(error instanceof BraidError)) throw error;
      this.#report({ event, error, scope: "event" });
      return undefined;
    }
  }

  async #request(entries: readonly Entry<T>[]): ReturnType<SendBatch> {
    const send = (codec: Codec): ReturnType<SendBatch> => {
      // Encoded again only if the server turned out not to know the first form.
      const events = entries.map((entry) =>
        entry.codec === codec ? entry.bytes : codec.encodeEvent(entry.event as NewEvent),
      );
      return this.#send(codec, codec.joinWrite(this.#namespace, events));
    };
    return entries[0]?.codec === jsonCodec ? send(jsonCodec) : this.#transport.inCodec(send);
  }
}

/** Tries of an event that is refused for a temporary reason, with 100, 200, … ms between them. */
const EVENT_ATTEMPTS_MAX = 6;
const EVENT_RETRY_MS = 50;
/** The first failures of many are enough to show the cause. */
const ERRORS_KEPT_MAX = 1000;
