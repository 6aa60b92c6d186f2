/**
 * The queue for several processes, on Kafka. Only this folder names the client and loads it, so
 * that a process without Kafka does not pay for it.
 *
 * `docs/operate/kafka.md` describes topics, settings and what happens during an outage of Kafka.
 */
import type { WorkQueue } from "../../ports/work-queue.ts";
import { kafkaSettings } from "./kafka-settings.ts";
import type { KafkaQueueOptions } from "./kafka-settings.ts";

/**
 * Creates the topics if they are missing. Rejects with CONFIG_INVALID if they exist with settings
 * that cannot work, or if they may not be created. It does not fail if no broker answers: the queue
 * keeps trying by itself and notifies the observer.
 */
export async function openKafkaQueue(options: KafkaQueueOptions): Promise<WorkQueue> {
  const { KafkaQueue } = await import("./kafka-queue.ts");
  return KafkaQueue.open(kafkaSettings(options));
}
