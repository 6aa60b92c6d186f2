/**
 * Sends batches, one answer each: acknowledged by all in-sync replicas, or failed, within a bound.
 *
 * After a failure the client is discarded and the next send makes a new one: a client's memory of
 * brokers that went away is its least reliable part.
 *
 * Not idempotent in Kafka's sense: that makes the client repeat without end, and a repeated message
 * is harmless here.
 */
import { compatibilityPartitioner, findErrorBy, ProduceAcks, Producer } from "@platformatic/kafka";
import type { MessageToProduce } from "@platformatic/kafka";
import { within } from "../../lib/within.ts";
import { clientOptions } from "./client-options.ts";
import type { KafkaSettings } from "./kafka-settings.ts";

/** Connecting, requesting metadata and sending, each with one repeat. */
const SEND_MS_MAX = 15_000;
const CLOSE_MS_MAX = 2_000;

const TOO_LARGE = ["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"];
/** Errors that no repeat can change: the message itself is at fault. */
const REFUSALS = [...TOO_LARGE, "INVALID_RECORD"];

export class KafkaProducer {
  readonly #settings: KafkaSettings;
  #client: Producer | undefined;

  constructor(settings: KafkaSettings) {
    this.#settings = settings;
  }

  async send(messages: MessageToProduce[]): Promise<void> {
    const client = (this.#client ??= new Producer({
      ...clientOptions(this.#settings),
      idempotent: false,
      acks: ProduceAcks.ALL,
      // As in the Java client, so that messages of other producers go to the same partition as
      // ours.
      partitioner: compatibilityPartitioner,
    }));
    try {
      const sent = client.send({ messages, acks: ProduceAcks.ALL });
      await within(this.#settings.clock, SEND_MS_MAX, "sending to Kafka", sent);
    } catch (error) {
      if (this.#client === client) this.#client = undefined;
      void this.#closeClient(client);
      throw error;
    }
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) await this.#closeClient(client);
  }

  async #closeClient(client: Producer): Promise<void> {
    try {
      await within(this.#settings.clock, CLOSE_MS_MAX, "closing a producer", client.close(true));
    } catch (error) {
      this.#settings.observer.trouble?.("a Kafka producer could not be closed cleanly", error);
    }
  }
}

export function isRefusal(error: unknown): boolean {
  return isAnyOf(REFUSALS, error);
}

export function isTooLarge(error: unknown): boolean {
  return isAnyOf(TOO_LARGE, error);
}

function isAnyOf(ids: readonly string[], error: unknown): boolean {
  return error instanceof Error && ids.some((id) => findErrorBy(error, "apiId", id) !== null);
}
