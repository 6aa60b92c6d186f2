/** `braid serve`, put together from its parts. */
import { allMethods } from "../api/methods/all-methods.ts";
import { Listener } from "../api/listen.ts";
import { Requests } from "../api/requests.ts";
import { DetectionEmitter } from "../splits/detect/detection-emitter.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import type { Clock } from "../lib/clock.ts";
import { loadTokenKey } from "../records/token-key.ts";
import { Namespaces } from "../namespaces/namespaces.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { WorkQueue } from "../ports/work-queue.ts";
import { PageTokens } from "../read/page-tokens.ts";
import { EventReader } from "../read/read-events.ts";
import { DEFAULT_READ_LIMITS } from "../read/read-query.ts";
import type { ReadLimits } from "../read/read-query.ts";
import { ReadSizes } from "../read/read-sizes.ts";
import { SliceSizes } from "../namespaces/slice-sizes.ts";
import type { EventLimits } from "../wire/validate-event.ts";
import { EventWriter } from "../write/write-events.ts";
import { DEFAULT_WRITE_QUEUE_OPTIONS, WriteQueue } from "../write/write-queue.ts";
import { ReadModes } from "../splits/promote/read-modes.ts";
import { holdsEvents } from "../splits/operate/holds-events.ts";
import { Splits } from "../splits/operate/splits.ts";
import { startCommonParts } from "./common-parts.ts";
import type { CommonParts } from "./common-parts.ts";
import { isLoopback } from "./config.ts";
import type { ServiceConfig } from "./config.ts";
import { consumeOwnDetections } from "./detections.ts";
import { Lifecycle } from "./lifecycle.ts";
import { LiveLatency } from "./live-latency.ts";
import { measuredReading, measuredWriting, requestObserver } from "./measured-methods.ts";
import { declareServerMetrics } from "./server-metrics.ts";
import type { ServerMetrics } from "./server-metrics.ts";
import { startServing } from "./serving.ts";
import { processName, startSplitting, thresholdsOf } from "./splitting.ts";
import type { SplittingOptions } from "./splitting.ts";
import { StatusReporter } from "./status-reporter.ts";
import { startVerifying } from "./verifying.ts";
import type { Runtime } from "./runtime.ts";
import { declareWorkerMetrics } from "./worker-metrics.ts";

export interface Service {
  readonly port: number;
  /** Finishes what is under way, flushes what is queued, and closes everything. */
  stop(): Promise<void>;
}

/** Starts everything, what answers callers last. If a part cannot start, those before it are stopped. */
export async function startService(config: ServiceConfig, runtime: Runtime): Promise<Service> {
  const lifecycle = new Lifecycle(runtime.log);
  try {
    const listener = await startParts(config, runtime, lifecycle);
    return { port: listener.port, stop: () => lifecycle.stop() };
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}

async function startParts(
  config: ServiceConfig,
  runtime: Runtime,
  lifecycle: Lifecycle,
): Promise<Listener> {
  const { clock, random, log } = runtime;
  const parts = await startCommonParts(config, runtime, lifecycle);
  const { metrics, storage, store, catalog, views, queue: detections } = parts;
  const measures = declareServerMetrics(metrics);
  measures.readMode.from(() => parts.known.readModes());
  const namespaces = new Namespaces({ ...parts, clock, random });
  const by = processName("server", random);
  const serving = await startServing(config, runtime, parts, lifecycle, { by, measures });
  const latency = new LiveLatency(clock);
  const nudge = startOwnWork(config, runtime, parts, lifecycle, {
    by,
    readLatencyMs: () => latency.recentMs(),
    confirmed: (partition) => serving.splits.changed(partition),
  });
  const verifier = startVerifying(parts, runtime, lifecycle, by);

  const writeBudget = new ByteBudget(config.server.write_memory);
  const writer = new EventWriter({
    clock,
    store,
    views,
    budget: writeBudget,
    onWritten: (namespace, events) => measures.written.add(events, namespace),
  });
  const queue = startQueue(config, runtime, writer, measures, lifecycle);
  const readBudget = new ByteBudget(config.server.read_memory / 2);
  const streamBudget = new ByteBudget(config.server.read_memory / 2);
  const readSizes = new ReadSizes({ clock });
  const emitter = startEmitter(detections, clock, measures);
  const readLimits = readLimitsOf(config);
  const reader = new EventReader({
    clock,
    views,
    opener: serving.splits.opener,
    budget: readBudget,
    streamBudget,
    tokens: new PageTokens(await loadTokenKey(catalog, random)),
    limits: readLimits,
    ...(catalog.shared && {
      others: { clockSkewMicros: parts.margins.clockSkew.micros, refreshView: parts.changed },
    }),
    onPartitionRead: (read) => {
      measures.partitionBytes.observe(read.bytes, read.view.namespace.name);
      emitter.note(read, read.view);
      readSizes.note(read);
    },
  });
  measures.writeBytes.from(() => writeBudget.used);
  measures.readBytes.from(() => readBudget.used + streamBudget.used);

  const namespaceExists = (name: string): boolean => views.current(name) !== undefined;
  const requestBudget = new ByteBudget(config.server.request_memory);
  const requests = new Requests({
    clock,
    random,
    log,
    observe: requestObserver(measures, namespaceExists),
    inFlightMax: config.server.requests_in_flight,
    budget: requestBudget,
  });
  measures.requestsInFlight.from(() => requests.inFlight);
  measures.requestBytes.from(() => requestBudget.used);
  const listener = await Listener.open({
    methods: allMethods({
      writing: measuredWriting(
        {
          limits: eventLimitsOf(config),
          write: (batch, signal) => writer.write(batch, signal),
          enqueue: (batch) => queue.enqueue(batch),
        },
        measures,
        namespaceExists,
      ),
      reading: measuredReading(reader, readLimits, measures, latency),
      namespaces,
      sizes: new SliceSizes({ catalog, clock, sources: [readSizes, ...storage.sizes] }),
      splits: new Splits({
        catalog,
        clock,
        nudge,
        changed: (partition) => serving.splits.changed(partition),
        holdsEvents: (partition) => holdsEvents(store, partition),
        namespaceChanged: parts.changed,
      }),
      modes: new ReadModes({
        catalog,
        clock,
        thresholds: thresholdsOf(config),
        namespaceChanged: parts.changed,
        killSwitchChanged: () => serving.killSwitch.refresh(),
        observeKillSwitch: ({ on, by: operator, reason: why }, unchanged) =>
          log.warn(
            { on, operator, reason: why },
            unchanged
              ? "the kill switch was set again: nothing changes"
              : "the kill switch was set",
          ),
      }),
      verify: verifier,
      status: new StatusReporter(config, runtime, parts, by),
    }),
    requests,
    metrics,
    clock,
    requestBytesMax: config.limits.request_bytes,
    loopbackOnly: isLoopback(config.listen.host),
    notReady: () => storage.notReady(),
    host: config.listen.host,
    port: config.listen.port,
    connectionsMax: config.server.connections,
  });
  measures.connections.from(() => listener.connections);
  lifecycle.started("the listener", async () => {
    const finished = await listener.drain(config.server.drain_grace);
    if (!finished)
      log.warn({ requests: requests.inFlight }, "requests were cut off: the grace was over");
    await listener.close();
  });
  return listener;
}

/**
 * On a queue of its own the server does the work itself. On one that others share it is `braid worker`'s,
 * and whoever asks for a split here waits for a worker's sweep.
 */
function startOwnWork(
  config: ServiceConfig,
  runtime: Runtime,
  parts: CommonParts,
  lifecycle: Lifecycle,
  options: Omit<SplittingOptions, "measures">,
): (partition: PartitionKey) => void {
  if (config.queue !== "embedded") return () => undefined;
  const { by } = options;
  const measures = declareWorkerMetrics(parts.metrics);
  const worker = startSplitting(config, runtime, parts, lifecycle, { ...options, measures });
  const nudge = (partition: PartitionKey): void => worker.nudge(partition);
  consumeOwnDetections({ ...parts, by, nudge }, runtime, measures, lifecycle);
  return nudge;
}

function startEmitter(
  queue: WorkQueue,
  clock: Clock,
  { detections }: ServerMetrics,
): DetectionEmitter {
  return new DetectionEmitter({
    clock,
    publish: (message) => queue.publish(message),
    observe: (namespace, outcome) => detections.add(1, namespace, outcome),
  });
}

function startQueue(
  config: ServiceConfig,
  { clock, log }: Runtime,
  writer: EventWriter,
  { writeQueueBytes, writeQueueDropped }: ServerMetrics,
  lifecycle: Lifecycle,
): WriteQueue {
  const queue = new WriteQueue(
    writer,
    clock,
    { ...DEFAULT_WRITE_QUEUE_OPTIONS, bytesMax: config.server.queue_memory },
    (namespace, code, events) => {
      // The namespace may have been deleted while events waited.
      const gone = code === "NAMESPACE_NOT_FOUND";
      writeQueueDropped.add(events, gone ? "" : namespace, code);
      log.warn({ namespace, code, events }, "queued events were dropped");
    },
  );
  writeQueueBytes.from(() => queue.bytes);
  lifecycle.started("the write queue", () => queue.close());
  return queue;
}

function eventLimitsOf({ limits }: ServiceConfig): EventLimits {
  return {
    seriesIdBytesMax: limits.series_id_bytes,
    eventIdBytesMax: limits.event_id_bytes,
    itemKeyBytesMax: limits.item_key_bytes,
    itemsMax: limits.items,
    eventBytesMax: limits.event_bytes,
    requestEventsMax: limits.request_events,
  };
}

function readLimitsOf({ limits }: ServiceConfig): ReadLimits {
  return {
    ...DEFAULT_READ_LIMITS,
    pageEventsMax: limits.page_events,
    pageSizeDefault: Math.min(DEFAULT_READ_LIMITS.pageSizeDefault, limits.page_events),
    pageBytesMax: limits.page_bytes,
    streamPageBytes: Math.min(DEFAULT_READ_LIMITS.streamPageBytes, limits.page_bytes),
  };
}
