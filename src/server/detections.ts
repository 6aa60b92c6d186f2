/** The queue of detections that the configuration names, and what is done with them. */
import { recordDetection } from "../splits/detect/record-detection.ts";
import type { ViewSource } from "../model/namespace.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { QueueObserver, WorkQueue } from "../ports/work-queue.ts";
import { EmbeddedQueue } from "../queues/embedded/embedded-queue.ts";
import { openKafkaQueue } from "../queues/kafka/index.ts";
import type { ServiceConfig } from "./config.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Runtime } from "./runtime.ts";

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
  metrics: Metrics,
  lifecycle: Lifecycle,
): Promise<WorkQueue> {
  const dropped = metrics.counter(
    "braid_queue_dropped_total",
    "Detections that the queue has not taken, by reason. A later read finds them again.",
    ["reason"],
  );
  const dead = metrics.counter("braid_queue_dead_letters_total", "Messages that make no sense.");
  const retries = metrics.counter("braid_queue_retries_total", "Messages handled again.");
  const observer: QueueObserver = {
    dropped: (why, messages) => dropped.add(messages, why),
    deadLettered: (why) => {
      dead.add(1);
      log.warn({ why }, "a message was put with the dead letters");
    },
    retried: (failures, error) => {
      retries.add(1);
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
  metrics.gauge("braid_queue_lag", "Detections that wait to be handled here.", () => queue.lag());
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
  metrics: Metrics,
  lifecycle: Lifecycle,
): void {
  consumeDetections(parts, runtime, metrics, lifecycle);
  // Closed once more with everything else, which does nothing then.
  lifecycle.started("what waits in the queue of detections", () => parts.queue.close());
}

/** Handles detections until the process stops. What is left waits for others. */
export function consumeDetections(
  { catalog, views, queue, by, nudge }: DetectionParts,
  { clock }: Runtime,
  metrics: Metrics,
  lifecycle: Lifecycle,
): void {
  const handled = metrics.counter(
    "braid_detections_handled_total",
    "Detections that a worker has handled, by what came of them.",
    ["namespace", "outcome"],
  );
  const handler = recordDetection({
    catalog,
    views,
    clock,
    by,
    nudge,
    observe: (namespace, outcome) => handled.add(1, namespace, outcome.replaceAll(" ", "_")),
  });
  lifecycle.run("handling detections", (signal) => queue.consume(handler, signal));
}
