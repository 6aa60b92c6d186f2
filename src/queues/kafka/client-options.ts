/**
 * The client options shared by all connections to Kafka: short waits and few repeats inside the
 * client, because the loops around it repeat without end, with a back-off, and make new clients.
 */
import type { BaseOptions } from "@platformatic/kafka";
import type { KafkaSettings } from "./kafka-settings.ts";

export function clientOptions({ brokers, clientId }: KafkaSettings): BaseOptions {
  return {
    clientId,
    bootstrapBrokers: [...brokers],
    connectTimeout: 2_000,
    // The broker's own time limit, and how long we wait for its answer.
    timeout: 3_000,
    requestTimeout: 4_000,
    retries: 1,
    retryDelay: 250,
    autocreateTopics: false,
  };
}
