/** `braid worker`, put together from its parts: no callers, only work from the queue. */
import { Listener } from "../api/listen.ts";
import { Requests } from "../api/requests.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import type { PartitionKey } from "../model/partition.ts";
import { startCommonParts } from "./common-parts.ts";
import type { Service } from "./compose.ts";
import { isLoopback } from "./config.ts";
import type { ServiceConfig } from "./config.ts";
import { consumeDetections } from "./detections.ts";
import { Lifecycle } from "./lifecycle.ts";
import { processName, startSplitting } from "./splitting.ts";
import { startVerifying } from "./verifying.ts";
import type { Runtime } from "./runtime.ts";
import { declareWorkerMetrics } from "./worker-metrics.ts";

/** Its port has health and metrics only. */
export async function startWorker(config: ServiceConfig, runtime: Runtime): Promise<Service> {
  const lifecycle = new Lifecycle(runtime.log);
  try {
    const parts = await startCommonParts(config, runtime, lifecycle);
    const { metrics, storage } = parts;
    const measures = declareWorkerMetrics(metrics);
    const by = processName("worker", runtime.random);
    const worker = startSplitting(config, runtime, parts, lifecycle, { by, measures });
    const nudge = (partition: PartitionKey): void => worker.nudge(partition);
    consumeDetections({ ...parts, by, nudge }, runtime, measures, lifecycle);
    startVerifying(parts, runtime, lifecycle, by);
    const listener = await Listener.open({
      methods: [],
      requests: new Requests({
        ...runtime,
        inFlightMax: config.server.requests_in_flight,
        budget: new ByteBudget(config.server.request_memory),
      }),
      metrics,
      clock: runtime.clock,
      requestBytesMax: config.limits.request_bytes,
      loopbackOnly: isLoopback(config.listen.host),
      notReady: () => storage.notReady(),
      host: config.listen.host,
      port: config.listen.port,
      connectionsMax: config.server.connections,
    });
    lifecycle.started("the listener", () => listener.close());
    return { port: listener.port, stop: () => lifecycle.stop() };
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}
