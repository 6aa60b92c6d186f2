/** `braid serve`, put together from its parts. */
import { allMethods } from "../api/methods/all-methods.ts";
import type { ReadMethods } from "../api/methods/read-events.ts";
import { Listener } from "../api/listen.ts";
import { Requests } from "../api/requests.ts";
import { DetectionEmitter } from "../splits/detect/detection-emitter.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../lib/metrics.ts";
import { loadTokenKey } from "../records/token-key.ts";
import { Namespaces } from "../namespaces/namespaces.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { WorkQueue } from "../ports/work-queue.ts";
import { PageTokens } from "../read/page-tokens.ts";
import { EventReader } from "../read/read-events.ts";
import type { ReadPage } from "../read/read-page.ts";
import { DEFAULT_READ_LIMITS } from "../read/read-query.ts";
import type { ReadLimits } from "../read/read-query.ts";
import { ReadSizes } from "../read/read-sizes.ts";
import { SliceSizes } from "../namespaces/slice-sizes.ts";
import type { EventLimits } from "../wire/validate-event.ts";
import { EventWriter } from "../write/write-events.ts";
import { DEFAULT_WRITE_QUEUE_OPTIONS, WriteQueue } from "../write/write-queue.ts";
import { ReadModes } from "../splits/promote/read-modes.ts";
import { Splits } from "../splits/operate/splits.ts";
import { startCommonParts } from "./common-parts.ts";
import type { CommonParts } from "./common-parts.ts";
import { isLoopback } from "./config.ts";
import type { ServiceConfig } from "./config.ts";
import { consumeOwnDetections } from "./detections.ts";
import { Lifecycle } from "./lifecycle.ts";
import { LiveLatency } from "./live-latency.ts";
import { startServing } from "./serving.ts";
import { processName, startSplitting, thresholdsOf } from "./splitting.ts";
import type { SplittingOptions } from "./splitting.ts";
import { StatusReporter } from "./status-reporter.ts";
import { startVerifying } from "./verifying.ts";
import type { Runtime } from "./runtime.ts";

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
  const namespaces = new Namespaces({ ...parts, clock, random });
  const by = processName("server", random);
  const serving = await startServing(config, runtime, parts, lifecycle, by);
  const latency = new LiveLatency(clock);
  const nudge = startOwnWork(config, runtime, parts, lifecycle, {
    by,
    readLatencyMs: () => latency.recentMs(),
    confirmed: (partition) => serving.splits.changed(partition),
  });
  const verifier = startVerifying(parts, runtime, lifecycle, by);

  const written = metrics.counter("braid_written_events_total", "Events made durable.", [
    "namespace",
  ]);
  const writeBudget = new ByteBudget(config.server.write_memory);
  const writer = new EventWriter({
    clock,
    store,
    views,
    budget: writeBudget,
    onWritten: (namespace, events) => written.add(events, namespace),
  });
  const queue = startQueue(config, runtime, writer, metrics, lifecycle);
  const readBudget = new ByteBudget(config.server.read_memory / 2);
  const streamBudget = new ByteBudget(config.server.read_memory / 2);
  const partitionBytes = metrics.histogram(
    "braid_partition_read_bytes",
    "Bytes read of one partition by one read.",
    ["namespace"],
    [1e3, 1e4, 1e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 1e9],
  );
  const readSizes = new ReadSizes({ clock });
  const emitter = startEmitter(detections, clock, metrics);
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
      partitionBytes.observe(read.bytes, read.view.namespace.name);
      emitter.note(read, read.view);
      readSizes.note(read);
    },
  });
  metrics.gauge("braid_write_bytes_in_flight", "Bytes being written.", () => writeBudget.used);
  metrics.gauge("braid_read_bytes_in_flight", "Bytes held by reads.", () => {
    return readBudget.used + streamBudget.used;
  });

  const requests = new Requests({
    clock,
    random,
    log,
    metrics,
    namespaceExists: (name) => views.current(name) !== undefined,
    inFlightMax: config.server.requests_in_flight,
    budget: new ByteBudget(config.server.request_memory),
  });
  const listener = await Listener.open({
    methods: allMethods({
      writing: {
        limits: eventLimitsOf(config),
        write: (batch, signal) => writer.write(batch, signal),
        enqueue: (batch) => queue.enqueue(batch),
      },
      reading: countedReadMethods(reader, readLimits, metrics, latency),
      namespaces,
      sizes: new SliceSizes({ catalog, clock, sources: [readSizes, ...storage.sizes] }),
      splits: new Splits({
        catalog,
        clock,
        nudge,
        changed: (partition) => serving.splits.changed(partition),
        namespaceChanged: parts.changed,
      }),
      modes: new ReadModes({
        catalog,
        clock,
        thresholds: thresholdsOf(config),
        namespaceChanged: parts.changed,
        killSwitchChanged: () => serving.killSwitch.refresh(),
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
  metrics.gauge("braid_connections", "Open connections.", () => listener.connections);
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
  options: SplittingOptions,
): (partition: PartitionKey) => void {
  if (config.queue !== "embedded") return () => undefined;
  const { by } = options;
  const worker = startSplitting(config, runtime, parts, lifecycle, options);
  const nudge = (partition: PartitionKey): void => worker.nudge(partition);
  consumeOwnDetections({ ...parts, by, nudge }, runtime, parts.metrics, lifecycle);
  return nudge;
}

function startEmitter(queue: WorkQueue, clock: Clock, metrics: Metrics): DetectionEmitter {
  const outcomes = metrics.counter(
    "braid_detections_total",
    "Reads that found a partition wide, by what came of it.",
    ["namespace", "outcome"],
  );
  return new DetectionEmitter({
    clock,
    publish: (message) => queue.publish(message),
    observe: (namespace, outcome) => outcomes.add(1, namespace, outcome),
  });
}

function startQueue(
  config: ServiceConfig,
  { clock, log }: Runtime,
  writer: EventWriter,
  metrics: Metrics,
  lifecycle: Lifecycle,
): WriteQueue {
  const dropped = metrics.counter(
    "braid_queued_events_dropped_total",
    "Events accepted into the queue and not written, by reason.",
    ["namespace", "code"],
  );
  const queue = new WriteQueue(
    writer,
    clock,
    { ...DEFAULT_WRITE_QUEUE_OPTIONS, bytesMax: config.server.queue_memory },
    (namespace, code, events) => {
      dropped.add(events, namespace, code);
      log.warn({ namespace, code, events }, "queued events were dropped");
    },
  );
  metrics.gauge("braid_queue_bytes", "Bytes accepted and not yet written.", () => queue.bytes);
  lifecycle.started("the write queue", () => queue.close());
  return queue;
}

/** What a read that fails counts for, at least, where splitting steps back for slow reads. */
const FAILED_READ_MS = 5_000;

/** Counts what is read on its way out. */
function countedReadMethods(
  reader: EventReader,
  limits: ReadLimits,
  metrics: Metrics,
  latency: LiveLatency,
): ReadMethods {
  const events = metrics.counter("braid_read_events_total", "Events returned.", ["namespace"]);
  const seconds = metrics.histogram("braid_read_seconds", "Time of one page.", [
    "namespace",
    "route",
  ]);
  const count = (page: ReadPage): ReadPage => {
    const { namespace, timeTakenMs, splitPartitionsRead } = page.context;
    events.add(page.count, namespace);
    const original = page.wide ? "wide original" : "original";
    seconds.observe(timeTakenMs / 1000, namespace, splitPartitionsRead > 0 ? "split" : original);
    return page;
  };
  return {
    limits,
    readPage: async (query, signal) =>
      count(await latency.measure(FAILED_READ_MS, () => reader.readPage(query, signal))),
    stream: async function* (query, signal) {
      for await (const page of reader.stream(query, signal)) {
        latency.note(page.context.timeTakenMs);
        yield count(page);
      }
    },
    explain: (query, signal) => reader.explain(query, signal),
  };
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
