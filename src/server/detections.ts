/** Opens the configured queue of detections and handles its messages. */
import { recordDetection } from "../splits/detect/record-detection.ts";
import type { ViewSource } from "../model/namespace.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { QueueObserver, WorkQueue } from "../ports/work-queue.ts";
import { EmbeddedQueue } from "../queues/embedded/embedded-queue.ts";
import { openKafkaQueue } from "../queues/kafka/index.ts";
import type { ServiceConfig } from "./config.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { ProcessMetrics } from "./process-metrics.ts";
import type { Runtime } from "./runtime.ts";
import type { WorkerMetrics } from "./worker-metrics.ts";

export interface DetectionParts {
  readonly catalog: Catalog;
  readonly views: ViewSource;
  readonly queue: WorkQueue;
  /** The name of this process. */
  readonly by: string;
  /** Called with a split that is due now. */
  readonly nudge: (partition: PartitionKey) => void;
}

/** The lifecycle closes the queue. */
export async function openQueue(
  config: ServiceConfig,
  { clock, random, log }: Runtime,
  measures: ProcessMetrics,
  lifecycle: Lifecycle,
): Promise<WorkQueue> {
  const observer: QueueObserver = {
    dropped: (why, messages) => measures.queueDropped.add(messages, why),
    deadLettered: (why) => {
      measures.queueDeadLetters.add(1);
      log.warn({ why }, "moved a message to the dead letters");
    },
    retried: (failures, error) => {
      measures.queueRetries.add(1);
      log.warn(
        { failures, err: error },
        "could not handle a message; the queue will deliver it again",
      );
    },
    trouble: (what, error) => log.warn({ err: error }, what),
  };
  const shared = { clock, random, observer };
  const { brokers, prefix, replication } = config.kafka;
  const queue =
    config.queue === "embedded"
      ? new EmbeddedQueue(shared)
      : await openKafkaQueue({
          ...shared,
          brokers,
          prefix,
          ...(replication > 0 && { replication }),
        });
  measures.queueLag.from(() => queue.lag());
  lifecycle.started("the queue of detections", () => queue.close());
  return queue;
}

/**
 * Handles the detections of a queue that only this process uses. On stop it first handles the
 * waiting detections, for as long as the queue's grace allows, because no other process could.
 */
export function consumeOwnDetections(
  parts: DetectionParts,
  runtime: Runtime,
  measures: Pick<WorkerMetrics, "handled">,
  lifecycle: Lifecycle,
): void {
  consumeDetections(parts, runtime, measures, lifecycle);
  // The lifecycle closes the queue a second time, which has no effect.
  lifecycle.started("waiting detections", () => parts.queue.close());
}

/** Handles detections until the process stops. Other processes handle the rest. */
export function consumeDetections(
  { catalog, views, queue, by, nudge }: DetectionParts,
  { clock }: Runtime,
  measures: Pick<WorkerMetrics, "handled">,
  lifecycle: Lifecycle,
): void {
  const handler = recordDetection({
    catalog,
    views,
    clock,
    by,
    nudge,
    // The queue may name any number of namespaces that no longer exist.
    observe: (namespace, outcome) =>
      measures.handled.add(1, outcome === "namespace_gone" ? "" : namespace, outcome),
  });
  lifecycle.run("handling detections", (signal) => queue.consume(handler, signal));
}
