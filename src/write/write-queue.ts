/**
 * Writes that are acknowledged on receipt: held for a moment, combined, and written like others.
 *
 * Bounded in bytes: events that do not fit are refused, never dropped unseen. Held events are lost
 * if the process dies (at most about `holdMs` of them while the storage works) and flushed when it
 * closes. Every event is checked again when it is flushed (rule C2); one that has become too old is
 * dropped and counted.
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
  /** The most that one flush writes. */
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

/** What one namespace holds. Each flushes by itself: one whose storage is away delays no other. */
interface Line {
  held: Held[];
  bytes: number;
  readonly flushing: Promise<void>;
}

/**
 * A namespace may hold this many times the bytes that are still free: alone it comes to four fifths
 * of all, and some are always left for others.
 */
const SHARE_FACTOR = 4;

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
  readonly #lines = new Map<string, Line>();
  readonly #closing = new AbortController();

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
      // Events point into the request's bytes, so the whole request stays in memory.
      this.#hold({ namespace: batch.namespace, events, bytes: batch.bytes });
    }
    const timeTakenMs = this.#clock.monotonicMs() - startedMs;
    return { taken: events.length, failures, timeTakenMs };
  }

  /** Accepts no more events and writes those it holds. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#lines.values()].map(({ flushing }) => flushing));
  }

  /** Throws OVERLOADED if there is no room, or the namespace has its share. */
  #hold(held: Held): void {
    const { namespace, bytes } = held;
    const line = this.#lines.get(namespace);
    const free = this.#options.bytesMax - this.#budget.used - bytes;
    const full = line !== undefined && line.bytes + bytes > SHARE_FACTOR * free;
    if (this.#closing.signal.aborted || full || !this.#budget.tryTake(bytes)) throw overloaded();
    if (line === undefined) {
      const first: Line = { held: [held], bytes, flushing: this.#flushLine(namespace) };
      this.#lines.set(namespace, first);
    } else {
      line.held.push(held);
      line.bytes += bytes;
    }
  }

  /** Until the namespace holds nothing. Never rejects. */
  async #flushLine(namespace: string): Promise<void> {
    // The line is in the map when this continues.
    await Promise.resolve();
    for (;;) {
      const line = this.#lines.get(namespace);
      if (line === undefined) return;
      if (line.bytes < this.#options.flushBytesMax) {
        await this.#clock.sleep(this.#options.holdMs, this.#closing.signal);
      }
      const next = this.#takeNext(namespace, line);
      await this.#flush(next);
      this.#budget.give(next.bytes);
      line.bytes -= next.bytes;
      if (line.held.length === 0) this.#lines.delete(namespace);
    }
  }

  /** The oldest held events, as many as one flush takes. */
  #takeNext(namespace: string, line: Line): Held {
    const events: EventBytes[] = [];
    let [count, bytes] = [0, 0];
    for (const held of line.held) {
      if (bytes >= this.#options.flushBytesMax) break;
      for (const event of held.events) events.push(event);
      bytes += held.bytes;
      count++;
    }
    line.held = line.held.slice(count);
    return { namespace, events, bytes };
  }

  async #flush({ namespace, events, bytes }: Held): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    let left: readonly EventBytes[] = events;
    for (let waitMs = RETRY_MS.first; ; waitMs = Math.min(2 * waitMs, RETRY_MS.max)) {
      const { again, code } = await this.#tryFlush({ namespace, events: left, bytes });
      if (again.length === 0) return;
      const overMs = this.#clock.monotonicMs() - startedMs;
      // A closing process gives the storage one last chance, not half a minute.
      const giveUpMs = this.#closing.signal.aborted ? RETRY_MS.max : this.#options.giveUpMs;
      if (overMs >= giveUpMs) {
        this.#onDropped(namespace, code, again.length);
        return;
      }
      left = again;
      await this.#clock.sleep(waitMs);
    }
  }

  /**
   * Writes once. `again` holds the events worth a repeat; all others are written, or dropped and
   * counted.
   */
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
