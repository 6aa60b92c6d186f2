/**
 * The queue of a single process: in memory, bounded, with the same guarantees as Kafka except one.
 *
 * A restart forgets messages that were accepted and not yet handled. That is right here: a message
 * only says that a read noticed a wide partition, and the next read notices it again; what a
 * handler made durable is in the catalog. A log on disk would cost an fsync to keep what is found
 * again for free.
 *
 * Keys are spread over serial queues as Kafka spreads them over partitions: in order within a
 * serial queue, several of them in parallel. Without a consumer, messages wait. A short list keeps
 * the newest dead letters.
 */
import type { BackOff } from "../../lib/back-off.ts";
import { utf8 } from "../../lib/bytes.ts";
import type { Clock } from "../../lib/clock.ts";
import { assert } from "../../lib/errors.ts";
import { hash32 } from "../../lib/hash.ts";
import { SerialQueue } from "../../lib/serial-queue.ts";
import type { Random } from "../../lib/random.ts";
import type {
  DropReason,
  MessageHandler,
  PublishOutcome,
  QueueMessage,
  QueueObserver,
  WorkQueue,
} from "../../ports/work-queue.ts";

export interface EmbeddedQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly observer?: QueueObserver | undefined;
  /**
   * How many messages may wait: a thousand wide partitions are a bad day, ten thousand are a bug.
   */
  readonly messagesMax?: number;
  readonly bytesMax?: number;
  readonly messageBytesMax?: number;
  /** Messages handled in parallel. */
  readonly serialQueues?: number;
  readonly backOff?: BackOff;
  readonly deadLettersMax?: number;
  readonly closeGraceMs?: number;
}

export interface DeadLetter extends QueueMessage {
  readonly why: string;
}

const DEFAULTS = {
  messagesMax: 10_000,
  bytesMax: 8 * 1024 * 1024,
  messageBytesMax: 64 * 1024,
  serialQueues: 8,
  backOff: { firstMs: 100, maxMs: 30_000 },
  deadLettersMax: 100,
  closeGraceMs: 5_000,
};

const SERIAL_SEED = 0;

export class EmbeddedQueue implements WorkQueue {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #observer: QueueObserver;
  readonly #limits: typeof DEFAULTS;
  readonly #serialQueues: readonly SerialQueue<QueueMessage>[];
  readonly #deadLetters: DeadLetter[] = [];
  readonly #closed = new AbortController();
  #messages = 0;
  #bytes = 0;
  #consuming = false;
  /** Called when the last waiting message has been handled. */
  #emptied: () => void = () => undefined;

  constructor(options: EmbeddedQueueOptions) {
    const { clock, random, observer, ...limits } = options;
    this.#clock = clock;
    this.#random = random;
    this.#observer = observer ?? {};
    this.#limits = { ...DEFAULTS, ...limits };
    this.#serialQueues = Array.from(
      { length: this.#limits.serialQueues },
      () => new SerialQueue<QueueMessage>(),
    );
  }

  /** The newest ones; all of them are counted. */
  get deadLetters(): readonly DeadLetter[] {
    return this.#deadLetters;
  }

  publish(message: QueueMessage): PublishOutcome {
    const bytes = message.value.length;
    if (this.#closed.signal.aborted) return this.#drop("closed", 1);
    if (bytes > this.#limits.messageBytesMax) return this.#drop("too_large", 1);
    const { messagesMax, bytesMax } = this.#limits;
    if (this.#messages >= messagesMax || this.#bytes + bytes > bytesMax) {
      return this.#drop("full", 1);
    }
    this.#messages++;
    this.#bytes += bytes;
    this.#serialQueueOf(message.key).push(message);
    return "accepted";
  }

  async consume(handler: MessageHandler, signal: AbortSignal): Promise<void> {
    assert(!this.#consuming, "one consumer at a time");
    this.#consuming = true;
    try {
      const retries = { clock: this.#clock, random: this.#random, backOff: this.#limits.backOff };
      const work = {
        work: (message: QueueMessage, stop: AbortSignal) => this.#handle(handler, message, stop),
        done: (message: QueueMessage) => this.#settle(message),
        failed: (failures: number, error: unknown) => this.#observer.retried?.(failures, error),
      };
      await Promise.all(this.#serialQueues.map((queue) => queue.run(work, retries, signal)));
    } finally {
      this.#consuming = false;
      this.#emptied();
    }
  }

  lag(): number {
    return this.#messages;
  }

  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    if (this.#consuming && this.#messages > 0) await this.#drained();
    const left = this.#messages;
    if (left > 0) this.#drop("closed", left);
  }

  /** Resolves when all messages are handled, the consumer has stopped, or the grace is over. */
  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(this.#limits.closeGraceMs, resolve);
      this.#emptied = (): void => {
        cancel();
        resolve();
      };
    });
  }

  async #handle(
    handler: MessageHandler,
    message: QueueMessage,
    signal: AbortSignal,
  ): Promise<void> {
    const handled = await handler(message, signal);
    if (handled.kind === "done") return;
    this.#deadLetters.push({ ...message, why: handled.why });
    if (this.#deadLetters.length > this.#limits.deadLettersMax) this.#deadLetters.shift();
    this.#observer.deadLettered?.(handled.why);
  }

  #settle(message: QueueMessage): void {
    this.#messages--;
    this.#bytes -= message.value.length;
    if (this.#messages === 0) this.#emptied();
  }

  #serialQueueOf(key: string): SerialQueue<QueueMessage> {
    const index = hash32(utf8(key), SERIAL_SEED) % this.#serialQueues.length;
    return this.#serialQueues[index] as SerialQueue<QueueMessage>;
  }

  #drop(why: DropReason, messages: number): "dropped" {
    this.#observer.dropped?.(why, messages);
    return "dropped";
  }
}
