/**
 * How we talk to Kafka, whatever for: short waits and few repeats inside the client, because the loops
 * around it repeat without end, with a back-off, and make new clients.
 */
import type { BaseOptions } from "@platformatic/kafka";
import type { KafkaSettings } from "./kafka-settings.ts";

export function clientOptions({ brokers, clientId }: KafkaSettings): BaseOptions {
  return {
    clientId,
    bootstrapBrokers: [...brokers],
    connectTimeout: 2_000,
    // What the broker may take, and what we wait for its answer.
    timeout: 3_000,
    requestTimeout: 4_000,
    retries: 1,
    retryDelay: 250,
    autocreateTopics: false,
  };
}
