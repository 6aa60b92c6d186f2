/**
 * The queue for several processes, on Kafka. Nothing outside this folder knows the client, and it is
 * loaded only here, so that who does not use Kafka does not pay for it.
 *
 * Topics, settings and what happens while Kafka is away: `docs/operate/kafka.md`.
 */
import type { WorkQueue } from "../../ports/work-queue.ts";
import { kafkaSettings } from "./kafka-settings.ts";
import type { KafkaQueueOptions } from "./kafka-settings.ts";

/**
 * Makes the topics if they are missing. Rejects with CONFIG_INVALID if they are there with settings
 * that cannot work, or may not be made. A broker that does not answer is no reason to fail: the queue goes
 * on trying by itself, and tells the observer.
 */
export async function openKafkaQueue(options: KafkaQueueOptions): Promise<WorkQueue> {
  const { KafkaQueue } = await import("./kafka-queue.ts");
  return KafkaQueue.open(kafkaSettings(options));
}
