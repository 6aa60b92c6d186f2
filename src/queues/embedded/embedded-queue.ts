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
 * the newest dead letters, until the process ends.
 */
import type { BackOff } from "../../lib/back-off.ts";
import { utf8 } from "../../lib/bytes.ts";
import type { Clock } from "../../lib/clock.ts";
import { assert, ServiceError } from "../../lib/errors.ts";
import { hash32 } from "../../lib/hash.ts";
import { SerialQueue } from "../../lib/serial-queue.ts";
import type { Random } from "../../lib/random.ts";
import type {
  DeadLetter,
  DeadPosition,
  DropReason,
  MessageHandler,
  PublishOutcome,
  QueueMessage,
  QueueObserver,
  QueuePartition,
  QueueState,
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

/** A waiting message, and since when. */
interface Waiting {
  readonly message: QueueMessage;
  /** Microseconds. */
  readonly at: number;
}

/** A serial queue with its counts, as a partition of Kafka has them. */
interface Partition {
  readonly serial: SerialQueue<Waiting>;
  published: number;
  done: number;
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
/** As on Kafka, for people. */
const TOPIC = "braid.detections";

export class EmbeddedQueue implements WorkQueue {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #observer: QueueObserver;
  readonly #limits: typeof DEFAULTS;
  readonly #partitions: readonly Partition[];
  readonly #deadLetters: DeadLetter[] = [];
  #nextDead = 0;
  #inFlight = 0;
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
    this.#partitions = Array.from({ length: this.#limits.serialQueues }, () => {
      return { serial: new SerialQueue<Waiting>(), published: 0, done: 0 };
    });
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
    const partition = this.#partitionOf(message.key);
    partition.published++;
    partition.serial.push({ message, at: this.#clock.nowMicros() });
    return "accepted";
  }

  async consume(handler: MessageHandler, signal: AbortSignal): Promise<void> {
    assert(!this.#consuming, "one consumer at a time");
    this.#consuming = true;
    try {
      const retries = { clock: this.#clock, random: this.#random, backOff: this.#limits.backOff };
      const running = this.#partitions.map((partition, nth) => {
        const work = {
          work: ({ message }: Waiting, stop: AbortSignal) =>
            this.#handle(handler, message, `partition ${nth}`, stop),
          done: ({ message }: Waiting) => {
            partition.done++;
            this.#settle(message);
          },
          failed: (failures: number, error: unknown) => this.#observer.retried?.(failures, error),
        };
        return partition.serial.run(work, retries, signal);
      });
      await Promise.all(running);
    } finally {
      this.#consuming = false;
      this.#emptied();
    }
  }

  lag(): number {
    return this.#messages;
  }

  async state(): Promise<QueueState> {
    const partitions = this.#partitions.map(({ serial, published, done }, nth): QueuePartition => {
      const waiting = serial.length;
      const oldestAt = serial.first?.at;
      return { topic: TOPIC, partition: nth, published, done, waiting, oldestAt };
    });
    const dead = this.#deadLetters.map(({ partition, offset }) => {
      return { partition, from: offset, to: offset + 1 };
    });
    return { partitions, inFlight: this.#inFlight, buffered: 0, dead };
  }

  /** The newest ones, since this process started; all of them are counted. */
  async deadLetters(from: DeadPosition, limit: number): Promise<readonly DeadLetter[]> {
    const behind = this.#deadLetters.filter(
      ({ partition, offset }) => partition === from.partition && offset >= from.offset,
    );
    return behind.slice(0, limit);
  }

  async republish(messages: readonly QueueMessage[]): Promise<void> {
    for (const message of messages) {
      if (this.publish(message) === "accepted") continue;
      throw new ServiceError("OVERLOADED", "the queue has no room for it now; try again later", {
        retryAfterMs: 1_000,
      });
    }
  }

  removeDead(positions: readonly DeadPosition[]): void {
    const gone = new Set(positions.map(({ offset }) => offset));
    const kept = this.#deadLetters.filter(({ offset }) => !gone.has(offset));
    this.#deadLetters.splice(0, this.#deadLetters.length, ...kept);
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
    origin: string,
    signal: AbortSignal,
  ): Promise<void> {
    this.#inFlight++;
    const handled = await handler(message, signal).finally(() => this.#inFlight--);
    if (handled.kind === "done") return;
    this.#deadLetters.push({
      ...message,
      partition: 0,
      offset: this.#nextDead++,
      why: handled.why,
      at: this.#clock.nowMicros(),
      origin,
      valueBytes: message.value.length,
    });
    if (this.#deadLetters.length > this.#limits.deadLettersMax) this.#deadLetters.shift();
    this.#observer.deadLettered?.(handled.why);
  }

  #settle(message: QueueMessage): void {
    this.#messages--;
    this.#bytes -= message.value.length;
    if (this.#messages === 0) this.#emptied();
  }

  #partitionOf(key: string): Partition {
    const index = hash32(utf8(key), SERIAL_SEED) % this.#partitions.length;
    return this.#partitions[index] as Partition;
  }

  #drop(why: DropReason, messages: number): "dropped" {
    this.#observer.dropped?.(why, messages);
    return "dropped";
  }
}
