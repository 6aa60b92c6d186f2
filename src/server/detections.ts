/** The queue of detections that the configuration names, and what is done with them. */
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
  /** Which process this is. */
  readonly by: string;
  /** Told of a split that is due now. */
  readonly nudge: (partition: PartitionKey) => void;
}

/** It is closed with everything else. */
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
      log.warn({ why }, "a message was put with the dead letters");
    },
    retried: (failures, error) => {
      measures.queueRetries.add(1);
      log.warn({ failures, err: error }, "a message could not be handled; it comes again");
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
 * Handles detections of a queue that this process alone has. When it stops, what waits is handled
 * first, for as long as the queue's grace allows: nobody else could do it.
 */
export function consumeOwnDetections(
  parts: DetectionParts,
  runtime: Runtime,
  measures: Pick<WorkerMetrics, "handled">,
  lifecycle: Lifecycle,
): void {
  consumeDetections(parts, runtime, measures, lifecycle);
  // Closed once more with everything else, which does nothing then.
  lifecycle.started("what waits in the queue of detections", () => parts.queue.close());
}

/** Handles detections until the process stops. What is left waits for others. */
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
    // The queue may have names of namespaces that no longer exist, and any number of them.
    observe: (namespace, outcome) =>
      measures.handled.add(1, outcome === "namespace_gone" ? "" : namespace, outcome),
  });
  lifecycle.run("handling detections", (signal) => queue.consume(handler, signal));
}
