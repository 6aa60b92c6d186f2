/**
 * Composes `braid worker` from its parts: it serves no callers and works on detections and splits.
 */
import type { PartitionKey } from "../model/partition.ts";
import { newAnnouncer, startAnnouncing } from "./announcing.ts";
import { startCommonParts } from "./common-parts.ts";
import type { Service } from "./compose.ts";
import type { ServiceConfig } from "./config.ts";
import { consumeDetections } from "./detections.ts";
import { Lifecycle } from "./lifecycle.ts";
import { openListener } from "./open-listener.ts";
import { processName, startSplitting } from "./splitting.ts";
import { comparisonOf } from "../splits/compare/comparison-of.ts";
import { startRechecking } from "./rechecking.ts";
import { startTuner } from "./tuning.ts";
import { startVerifying } from "./verifying.ts";
import type { Runtime } from "./runtime.ts";
import { startWalking } from "./walking.ts";
import { declareWorkerMetrics } from "./worker-metrics.ts";

/** Its port has health and metrics only. */
export async function startWorker(config: ServiceConfig, runtime: Runtime): Promise<Service> {
  const lifecycle = new Lifecycle(runtime.log);
  try {
    const parts = await startCommonParts(config, runtime, lifecycle);
    const { metrics, storage } = parts;
    const measures = declareWorkerMetrics(metrics);
    const by = processName("worker", runtime.random);
    const announcer = newAnnouncer(config, runtime, parts, lifecycle, {
      by,
      role: "WORKER",
      oldestFilterMs: () => undefined,
    });
    const believing = { ...runtime, clock: parts.believed };
    const worker = startSplitting(config, believing, parts, lifecycle, { by, measures });
    startTuner(config, runtime, parts, lifecycle);
    startWalking(config, runtime, parts, lifecycle, measures);
    const nudge = (partition: PartitionKey): void => worker.nudge(partition);
    consumeDetections({ ...parts, by, nudge }, believing, measures, lifecycle);
    const differences = startRechecking(parts, believing, lifecycle, by);
    startVerifying(parts, runtime, lifecycle, by, (reported, signal) =>
      differences.settle(comparisonOf(reported), signal),
    );
    const { listener } = await openListener(config, runtime, {
      methods: [],
      metrics,
      notReady: () => storage.notReady(),
      namespaceExists: () => false,
      readWaitMsMax: () => 0,
    });
    lifecycle.started("the listener", async () => {
      await listener.drain(0);
      listener.close();
    });
    startAnnouncing(announcer, lifecycle);
    return { port: listener.port, stop: () => lifecycle.stop() };
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}
