/**
 * The work queue on Kafka: a buffer in front of a producer, and consumer sessions one after
 * another.
 *
 * It works without Kafka being available. During an outage, publishing fills the buffer and then
 * drops messages, and consuming waits; both resume by themselves afterwards, with new clients. The
 * topics are checked before the first use and again after each failure.
 */
import { Buffer } from "node:buffer";
import type { Message } from "@platformatic/kafka";
import { backOffMs } from "../../lib/back-off.ts";
import { assert, ServiceError } from "../../lib/errors.ts";
import { within } from "../../lib/within.ts";
import type {
  DeadLetter,
  DeadPosition,
  MessageHandler,
  PublishOutcome,
  QueueMessage,
  QueueState,
  WorkQueue,
} from "../../ports/work-queue.ts";
import { ConsumerSession } from "./consumer-session.ts";
import { sendDeadLetter } from "./dead-letter.ts";
import type { KafkaSettings } from "./kafka-settings.ts";
import { KafkaProducer } from "./kafka-producer.ts";
import { PublishBuffer } from "./publish-buffer.ts";
import { readDeadLetters, readDeadRanges, readPartitions } from "./topic-reader.ts";
import { ensureTopics } from "./topics.ts";

const TOPICS_MS_MAX = 20_000;
/** How long a start waits for the check of the topics before it continues without it. */
const OPEN_MS_MAX = 5_000;

/** Batches of few messages: each may be large, and a topic limits the size of a batch. */
const REPUBLISHED_AT_ONCE = 10;

export class KafkaQueue implements WorkQueue {
  readonly #settings: KafkaSettings;
  readonly #producer: KafkaProducer;
  readonly #buffer: PublishBuffer;
  #topics: Promise<void> | undefined;
  /** Problems of the topics already reported: the topics are checked repeatedly. */
  readonly #reportedProblems = new Set<string>();
  #consuming = false;
  #closed = false;
  #lag = 0;
  #inFlight = 0;

  static async open(settings: KafkaSettings): Promise<KafkaQueue> {
    const queue = new KafkaQueue(settings);
    try {
      await within(settings.clock, OPEN_MS_MAX, "checking Kafka's topics", queue.#ready());
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      settings.observer.trouble?.("Kafka does not answer; the queue keeps trying", error);
    }
    return queue;
  }

  private constructor(settings: KafkaSettings) {
    this.#settings = settings;
    this.#producer = new KafkaProducer(settings);
    this.#buffer = new PublishBuffer(settings, (messages) => this.#send(messages));
  }

  publish(message: QueueMessage): PublishOutcome {
    return this.#buffer.add(message);
  }

  async consume(handler: MessageHandler, signal: AbortSignal): Promise<void> {
    assert(!this.#consuming, "one consumer at a time");
    this.#consuming = true;
    try {
      await this.#runSessions(handler, signal);
    } finally {
      this.#consuming = false;
    }
  }

  lag(): number {
    return this.#lag;
  }

  async state(): Promise<QueueState> {
    const partitions = await readPartitions(this.#settings);
    const dead = await readDeadRanges(this.#settings);
    return { partitions, inFlight: this.#inFlight, buffered: this.#buffer.length, dead };
  }

  deadLetters(from: DeadPosition, limit: number): Promise<readonly DeadLetter[]> {
    return readDeadLetters(this.#settings, from, limit);
  }

  async republish(messages: readonly QueueMessage[]): Promise<void> {
    try {
      for (let at = 0; at < messages.length; at += REPUBLISHED_AT_ONCE) {
        await this.#send(messages.slice(at, at + REPUBLISHED_AT_ONCE));
      }
    } catch (cause) {
      throw new ServiceError("STORAGE_UNAVAILABLE", "Kafka did not take the messages; try again", {
        retryAfterMs: 1_000,
        cause,
      });
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#buffer.close();
    await this.#producer.close();
  }

  async #runSessions(handler: MessageHandler, signal: AbortSignal): Promise<void> {
    const { clock, random, reconnect, observer } = this.#settings;
    let failures = 0;
    while (!signal.aborted) {
      const session = new ConsumerSession(this.#settings, {
        handle: (message, stop) => this.#handle(handler, message, stop),
        lagSeen: (messages) => {
          // It has joined and gets answers: earlier problems are over.
          failures = 0;
          this.#lag = messages;
        },
      });
      try {
        await this.#ready();
        // Without a session the number of waiting messages is unknown.
        await session.run(signal).finally(() => (this.#lag = 0));
      } catch (error) {
        this.#topics = undefined;
        failures++;
        if (failures === 1) observer.trouble?.("consuming from Kafka was interrupted", error);
        await clock.sleep(backOffMs(failures, reconnect, random), signal);
      }
    }
  }

  async #handle(handler: MessageHandler, message: Message, signal: AbortSignal): Promise<void> {
    // A message of another producer may lack either.
    const { key, value } = message as { key?: Buffer | null; value?: Buffer | null };
    const bytes = value ?? Buffer.alloc(0);
    this.#inFlight++;
    const given = { key: key?.toString("utf8") ?? "", value: bytes };
    const handled = await handler(given, signal).finally(() => this.#inFlight--);
    if (handled.kind === "done") return;
    const { deadTopic } = this.#settings;
    await sendDeadLetter(message, handled.why, deadTopic, (letters) =>
      this.#producer.send(letters),
    );
    this.#settings.observer.deadLettered?.(handled.why);
  }

  async #send(messages: readonly QueueMessage[]): Promise<void> {
    const { topic } = this.#settings;
    try {
      await this.#ready();
      await this.#producer.send(
        messages.map(({ key, value }) => ({
          topic,
          key: Buffer.from(key),
          value: Buffer.from(value.buffer, value.byteOffset, value.byteLength),
        })),
      );
    } catch (error) {
      this.#topics = undefined;
      throw error;
    }
  }

  /** Resolves when the topics are as required. Checked once, and again after a failure. */
  #ready(): Promise<void> {
    const { clock } = this.#settings;
    const asked = (this.#topics ??= within(
      clock,
      TOPICS_MS_MAX,
      "checking Kafka's topics",
      this.#checkTopics(),
    ));
    asked.catch(() => {
      if (this.#topics === asked) this.#topics = undefined;
    });
    return asked;
  }

  async #checkTopics(): Promise<void> {
    for (const problem of await ensureTopics(this.#settings)) {
      if (this.#reportedProblems.has(problem)) continue;
      this.#reportedProblems.add(problem);
      this.#settings.observer.trouble?.(problem, undefined);
    }
  }
}
