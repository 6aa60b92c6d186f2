/**
 * Writes that are acknowledged on receipt: held for a moment, put together, and written like others.
 *
 * Bounded in bytes: what does not fit is refused, never dropped unseen. What is held is lost if the
 * process dies (at most about `holdMs` of it while the storage is well) and flushed when it closes.
 * Every event is checked again when it is flushed (rule C2); what has become too old is dropped and counted.
 */
import { ByteBudget } from "../lib/byte-budget.ts";
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import type { Code, EventCode } from "../lib/errors.ts";
import type { EventBytes } from "../wire/event-record.ts";
import type { WriteBatch } from "../wire/write-request.ts";
import { overloaded } from "./write-events.ts";
import type { EventWriter, WriteResult } from "./write-events.ts";

export interface WriteQueueOptions {
  /** How much may be held. */
  readonly bytesMax: number;
  /** How long events wait for others before they are written. */
  readonly holdMs: number;
  /** One flush writes at most this much at once. */
  readonly flushBytesMax: number;
  /** How long a flush is repeated while the storage fails, before its events are dropped. */
  readonly giveUpMs: number;
}

export const DEFAULT_WRITE_QUEUE_OPTIONS: WriteQueueOptions = {
  bytesMax: 16 * 1024 * 1024,
  holdMs: 20,
  flushBytesMax: 1024 * 1024,
  giveUpMs: 30_000,
};

interface Held {
  readonly namespace: string;
  readonly events: readonly EventBytes[];
  readonly bytes: number;
}

const RETRYABLE: ReadonlySet<string> = new Set([
  "STORAGE_UNAVAILABLE",
  "OUTCOME_UNKNOWN",
  "OVERLOADED",
]);

/** The first repeat comes soon, later ones back off. */
const RETRY_MS = { first: 50, max: 2_000 };

export class WriteQueue {
  readonly #writer: EventWriter;
  readonly #clock: Clock;
  readonly #options: WriteQueueOptions;
  readonly #budget: ByteBudget;
  readonly #onDropped: (namespace: string, code: Code | EventCode, events: number) => void;
  #held: Held[] = [];
  readonly #closing = new AbortController();
  #flushing: Promise<void> | undefined;

  constructor(
    writer: EventWriter,
    clock: Clock,
    options: WriteQueueOptions,
    onDropped: (namespace: string, code: Code | EventCode, events: number) => void,
  ) {
    this.#writer = writer;
    this.#clock = clock;
    this.#options = options;
    this.#budget = new ByteBudget(options.bytesMax);
    this.#onDropped = onDropped;
  }

  get bytes(): number {
    return this.#budget.used;
  }

  async enqueue(batch: WriteBatch): Promise<WriteResult> {
    const startedMs = this.#clock.monotonicMs();
    const { groups, failures } = await this.#writer.check(batch);
    const events = groups.flatMap((group) => group.events.map((placed) => placed.event));
    if (events.length > 0) {
      // Events point into the request's bytes, so the whole request is what stays in memory.
      if (this.#closing.signal.aborted || !this.#budget.tryTake(batch.bytes)) throw overloaded();
      this.#held.push({ namespace: batch.namespace, events, bytes: batch.bytes });
      this.#flushing ??= this.#flushAll();
    }
    const timeTakenMs = this.#clock.monotonicMs() - startedMs;
    return { taken: events.length, failures, timeTakenMs };
  }

  /** Takes no more and writes what is held. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#flushing;
  }

  async #flushAll(): Promise<void> {
    while (this.#held.length > 0) {
      if (this.#budget.used < this.#options.flushBytesMax) {
        await this.#clock.sleep(this.#options.holdMs, this.#closing.signal);
      }
      const next = this.#takeNext();
      await this.#flush(next);
      this.#budget.give(next.bytes);
    }
    this.#flushing = undefined;
  }

  /** The oldest held events, with as many of the same namespace as one flush takes. */
  #takeNext(): Held {
    const first = this.#held[0] as Held;
    const events: EventBytes[] = [];
    const rest: Held[] = [];
    let bytes = 0;
    for (const held of this.#held) {
      if (held.namespace !== first.namespace || bytes >= this.#options.flushBytesMax) {
        rest.push(held);
        continue;
      }
      for (const event of held.events) events.push(event);
      bytes += held.bytes;
    }
    this.#held = rest;
    return { namespace: first.namespace, events, bytes };
  }

  async #flush({ namespace, events, bytes }: Held): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    let left: readonly EventBytes[] = events;
    for (let waitMs = RETRY_MS.first; ; waitMs = Math.min(2 * waitMs, RETRY_MS.max)) {
      const { again, code } = await this.#tryFlush({ namespace, events: left, bytes });
      if (again.length === 0) return;
      const overMs = this.#clock.monotonicMs() - startedMs;
      // A process that is to end gives the storage one last chance, not half a minute.
      const giveUpMs = this.#closing.signal.aborted ? RETRY_MS.max : this.#options.giveUpMs;
      if (overMs >= giveUpMs) {
        this.#onDropped(namespace, code, again.length);
        return;
      }
      left = again;
      await this.#clock.sleep(waitMs);
    }
  }

  /** Writes once; `again` are the events worth a repeat, all others are written or dropped and counted. */
  async #tryFlush(held: Held): Promise<{ again: readonly EventBytes[]; code: Code }> {
    const { namespace, events } = held;
    try {
      const { failures } = await this.#writer.write(held, new AbortController().signal);
      const again: EventBytes[] = [];
      for (const { index, code } of failures) {
        if (RETRYABLE.has(code)) again.push(events[index] as EventBytes);
        else this.#onDropped(namespace, code, 1);
      }
      return { again, code: "OUTCOME_UNKNOWN" };
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : "INTERNAL";
      if (RETRYABLE.has(code)) return { again: events, code };
      this.#onDropped(namespace, code, events.length);
      return { again: [], code };
    }
  }
}
