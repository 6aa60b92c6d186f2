import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import { VirtualClock, settle } from "../../tests/support/virtual-clock.ts";
import { ServiceError } from "../lib/errors.ts";
import { silentLog } from "../lib/log.ts";
import { Metrics } from "../lib/metrics.ts";
import { systemRandom } from "../lib/random.ts";
import { encodeDetection } from "../model/detection.ts";
import type { ViewSource } from "../model/namespace.ts";
import type { WorkQueue } from "../ports/work-queue.ts";
import { loadConfig } from "./config.ts";
import { consumeDetections, consumeOwnDetections, openQueue } from "./detections.ts";
import { Lifecycle } from "./lifecycle.ts";
import { declareProcessMetrics } from "./process-metrics.ts";
import { declareWorkerMetrics } from "./worker-metrics.ts";

const DETECTION = encodeDetection({
  namespace: "gone",
  timeSlice: "data_20260328",
  timeSeriesId: "profile:1",
  timeBucket: 0,
  eventBucket: 0,
  immutable: true,
  epoch: 0,
  bytes: 1,
  events: 1,
  detectedAt: 0,
});

/** The catalog answers when the test lets it. */
class SlowViews implements ViewSource {
  readonly answer = Promise.withResolvers<void>();

  current(): undefined {
    return undefined;
  }

  async get(): Promise<never> {
    await this.answer.promise;
    throw new ServiceError("NAMESPACE_NOT_FOUND", "there is none");
  }
}

async function start(consume: typeof consumeDetections) {
  const clock = new VirtualClock(0);
  const runtime = { clock, random: systemRandom, log: silentLog };
  const metrics = new Metrics();
  const lifecycle = new Lifecycle(silentLog);
  const { config } = await loadConfig({ flags: {}, file: undefined, env: {}, cwd: "/nowhere" });
  const queue = await openQueue(config, runtime, declareProcessMetrics(metrics, config), lifecycle);
  const views = new SlowViews();
  const parts = {
    catalog: new MemoryCatalog(),
    views,
    queue,
    by: "worker-1",
    nudge: () => undefined,
  };
  consume(parts, runtime, declareWorkerMetrics(metrics), lifecycle);
  return { clock, metrics, lifecycle, queue, views };
}

/** Publishes three detections with one key, so that they stay in order. */
function publishThree(queue: WorkQueue): void {
  const outcomes = Array.from({ length: 3 }, () => queue.publish({ key: "k", value: DETECTION }));
  deepEqual(outcomes, ["accepted", "accepted", "accepted"]);
}

test("a process handles the detections of its own queue before it ends", async () => {
  const { metrics, lifecycle, queue, views } = await start(consumeOwnDetections);
  publishThree(queue);
  await settle();
  const stopped = lifecycle.stop();
  await settle();
  equal(queue.publish({ key: "k", value: DETECTION }), "dropped");
  views.answer.resolve();
  await stopped;
  equal(queue.lag(), 0);
  match(await metrics.text(), /braid_detections_handled_total\{.*outcome="namespace_gone"\} 3/);
});

test("after the grace it gives up and counts the lost detections", async () => {
  const { clock, metrics, lifecycle, queue, views } = await start(consumeOwnDetections);
  publishThree(queue);
  const stopped = lifecycle.stop();
  await clock.advance(60_000);
  views.answer.resolve();
  await stopped;
  match(await metrics.text(), /braid_queue_dropped_total\{reason="closed"\} 3/);
});

test("detections of a shared queue stay in the queue", async () => {
  const { lifecycle, queue, views } = await start(consumeDetections);
  publishThree(queue);
  await settle();
  const stopped = lifecycle.stop();
  views.answer.resolve();
  await stopped;
  equal(queue.lag(), 2);
});
