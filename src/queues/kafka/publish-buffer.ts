/**
 * Holds messages that were published and are not at the broker yet: bounded, sent in order, a batch
 * at a time.
 *
 * Adding costs a push. During an outage of the broker the buffer fills, and then further messages
 * are dropped and counted; afterwards the held messages are sent. A batch whose answer was lost is
 * sent again, so its messages may be there twice, in order.
 */
import { backOffMs } from "../../lib/back-off.ts";
import type { DropReason, PublishOutcome, QueueMessage } from "../../ports/work-queue.ts";
import type { KafkaSettings } from "./kafka-settings.ts";
import { isRefusal } from "./kafka-producer.ts";

/** Well below the topic's largest batch, whatever the keys and the framing add. */
const BATCH_BYTES_MAX = 256 * 1024;
const BATCH_MESSAGES_MAX = 500;

export type SendBatch = (messages: readonly QueueMessage[]) => Promise<void>;

export class PublishBuffer {
  readonly #settings: KafkaSettings;
  readonly #send: SendBatch;
  readonly #held: QueueMessage[] = [];
  readonly #closing = new AbortController();
  readonly #givenUp = new AbortController();
  #bytes = 0;
  #sending: Promise<void> | undefined;

  constructor(settings: KafkaSettings, send: SendBatch) {
    this.#settings = settings;
    this.#send = send;
  }

  /** Messages that the broker does not have yet. */
  get length(): number {
    return this.#held.length;
  }

  add(message: QueueMessage): PublishOutcome {
    const bytes = message.value.length;
    const { messagesMax, bytesMax, messageBytesMax } = this.#settings;
    if (this.#closing.signal.aborted) return this.#drop("closed", 1);
    if (bytes > messageBytesMax) return this.#drop("too_large", 1);
    if (this.#held.length >= messagesMax || this.#bytes + bytes > bytesMax) {
      return this.#drop("full", 1);
    }
    this.#held.push(message);
    this.#bytes += bytes;
    this.#sending ??= this.#sendAll();
    return "accepted";
  }

  /** Sends held messages until the grace is over. */
  async close(): Promise<void> {
    const { clock, closeGraceMs } = this.#settings;
    this.#closing.abort();
    if (this.#sending !== undefined) {
      await Promise.race([this.#sending, clock.sleep(closeGraceMs, this.#givenUp.signal)]);
    }
    this.#givenUp.abort();
    if (this.#held.length > 0) this.#drop("closed", this.#held.length);
  }

  async #sendAll(): Promise<void> {
    // Yields once, so that a caller that publishes several messages can add them all to this batch.
    await Promise.resolve();
    const { clock, random, reconnect } = this.#settings;
    let failures = 0;
    while (this.#held.length > 0 && !this.#givenUp.signal.aborted) {
      const batch = this.#nextBatch();
      if (await this.#trySend(batch, failures)) {
        failures = 0;
        this.#remove(batch);
      } else {
        failures++;
        await clock.sleep(backOffMs(failures, reconnect, random), this.#givenUp.signal);
      }
    }
    this.#sending = undefined;
  }

  /** True if the batch is done, sent or refused. */
  async #trySend(batch: readonly QueueMessage[], failures: number): Promise<boolean> {
    const { observer } = this.#settings;
    try {
      await this.#send(batch);
      return true;
    } catch (error) {
      if (isRefusal(error)) {
        observer.trouble?.("Kafka refuses messages for good", error);
        this.#drop("refused", batch.length);
        return true;
      }
      // Once for each outage, not once for each attempt.
      if (failures === 0) observer.trouble?.("Kafka accepts no messages; they are held", error);
      return false;
    }
  }

  #nextBatch(): readonly QueueMessage[] {
    let count = 0;
    let bytes = 0;
    for (const { key, value } of this.#held) {
      bytes += value.length + key.length;
      if (count === BATCH_MESSAGES_MAX || (count > 0 && bytes > BATCH_BYTES_MAX)) break;
      count++;
    }
    return this.#held.slice(0, count);
  }

  #remove(batch: readonly QueueMessage[]): void {
    this.#held.splice(0, batch.length);
    for (const { value } of batch) this.#bytes -= value.length;
  }

  #drop(why: DropReason, messages: number): "dropped" {
    this.#settings.observer.dropped?.(why, messages);
    return "dropped";
  }
}
