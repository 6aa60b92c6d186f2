/** Puts the parts together: the one file that knows every part. */
import { allMethods } from "../api/methods/all-methods.ts";
import type { Reading } from "../api/methods/read-events.ts";
import { Listener } from "../api/listen.ts";
import { Requests } from "../api/requests.ts";
import { openEmbeddedEngine } from "../engines/embedded/index.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { Metrics } from "../lib/metrics.ts";
import type { Random } from "../lib/random.ts";
import { NamespaceViews } from "../metadata/namespace-views.ts";
import { SliceTurns } from "../metadata/slice-turns.ts";
import { loadTokenKey } from "../metadata/token-key.ts";
import type { ConfigMargins } from "../model/check-config.ts";
import type { BlockedId } from "../model/namespace.ts";
import { Namespaces } from "../namespaces/namespaces.ts";
import { routeToOriginals } from "../partition/partition-router.ts";
import { PageTokens } from "../read/page-tokens.ts";
import { EventReader } from "../read/read-events.ts";
import type { ReadPage } from "../read/read-page.ts";
import { DEFAULT_READ_LIMITS } from "../read/read-query.ts";
import type { ReadLimits } from "../read/read-query.ts";
import { SliceKeeper } from "../retain/slice-keeper.ts";
import type { KeeperEvent } from "../retain/slice-keeper.ts";
import type { EventLimits } from "../wire/validate-event.ts";
import { EventWriter } from "../write/write-events.ts";
import { DEFAULT_WRITE_QUEUE_OPTIONS, WriteQueue } from "../write/write-queue.ts";
import { isLoopback } from "./config.ts";
import type { ServiceConfig } from "./config.ts";
import { Lifecycle } from "./lifecycle.ts";

export interface World {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Service {
  readonly port: number;
  /** Finishes what is under way, flushes what is queued, and closes everything. */
  stop(): Promise<void>;
}

/** Starts everything, what answers callers last. If a part cannot start, those before it are stopped. */
export async function startService(config: ServiceConfig, world: World): Promise<Service> {
  const lifecycle = new Lifecycle(world.log);
  try {
    const listener = await startParts(config, world, lifecycle);
    return { port: listener.port, stop: () => lifecycle.stop() };
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}

async function startParts(
  config: ServiceConfig,
  world: World,
  lifecycle: Lifecycle,
): Promise<Listener> {
  const { clock, random, log } = world;
  const metrics = new Metrics();
  metrics.addProcess();

  const { store, catalog } = await startEngine(config, world, metrics, lifecycle);
  const configuredBlocks = blocksOf(config, clock.nowMicros());
  const views = new NamespaceViews({
    catalog,
    clock,
    viewMaxAgeMs: config.view_max_age,
    configuredBlocks,
    onRefreshFailed: (namespace, error) =>
      log.warn({ namespace, err: error }, "a view could not be refreshed"),
  });
  lifecycle.run("keeping views young", (signal) => views.run(signal));
  const changed = (name: string): Promise<void> => views.refresh(name);
  const margins = marginsOf(config);
  const turns = new SliceTurns();
  const keeper = new SliceKeeper({
    catalog,
    store,
    turns,
    clock,
    margins,
    changed,
    observe: (event) => logKeeper(log, event),
  });
  lifecycle.run("the keeper of slices", (signal) => keeper.run(signal));
  const namespaces = new Namespaces({
    catalog,
    store,
    turns,
    clock,
    random,
    margins,
    configuredBlocks,
    changed,
  });

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
  const queue = startQueue(config, world, writer, metrics, lifecycle);
  const readBudget = new ByteBudget(config.server.read_memory / 2);
  const streamBudget = new ByteBudget(config.server.read_memory / 2);
  const partitionBytes = metrics.histogram(
    "braid_partition_read_bytes",
    "Bytes read of one partition by one read.",
    ["namespace"],
    [1e3, 1e4, 1e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 1e9],
  );
  const readLimits = readLimitsOf(config);
  const reader = new EventReader({
    clock,
    store,
    views,
    router: routeToOriginals,
    budget: readBudget,
    streamBudget,
    tokens: new PageTokens(await loadTokenKey(catalog, random)),
    limits: readLimits,
    onPartitionRead: ({ namespace, bytes }) => partitionBytes.observe(bytes, namespace),
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
      reading: countedReading(reader, readLimits, metrics),
      namespaces,
    }),
    requests,
    metrics,
    clock,
    requestBytesMax: config.limits.request_bytes,
    loopbackOnly: isLoopback(config.listen.host),
    notReady: () => undefined,
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

async function startEngine(
  config: ServiceConfig,
  { clock, log }: World,
  metrics: Metrics,
  lifecycle: Lifecycle,
) {
  const commits = metrics.histogram(
    "braid_engine_commit_seconds",
    "Time of one commit of the embedded engine, fsync included.",
    [],
  );
  const appends = metrics.counter(
    "braid_engine_appends_total",
    "Appends put together into commits.",
  );
  const bytes = metrics.counter("braid_engine_committed_bytes_total", "Bytes of events committed.");
  let openStores = 0;
  metrics.gauge("braid_engine_open_slices", "Slices whose files are open.", () => openStores);
  const engine = await openEmbeddedEngine({
    directory: config.data,
    clock,
    openStoresMax: config.server.open_slices,
    observer: {
      committed: (commit) => {
        commits.observe(commit.ms / 1000);
        appends.add(commit.appends);
        bytes.add(commit.bytes);
      },
      openStoresChanged: (count) => {
        openStores = count;
      },
    },
    warn: (message, cause) => log.warn({ err: cause }, message),
  });
  lifecycle.started("the engine", () => engine.close());
  return engine;
}

function startQueue(
  config: ServiceConfig,
  { clock, log }: World,
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

/** Counts what is read on its way out. */
function countedReading(reader: EventReader, limits: ReadLimits, metrics: Metrics): Reading {
  const events = metrics.counter("braid_read_events_total", "Events returned.", ["namespace"]);
  const seconds = metrics.histogram("braid_read_seconds", "Time of one page.", [
    "namespace",
    "route",
  ]);
  const count = (page: ReadPage): ReadPage => {
    const { namespace, timeTakenMs, splitPartitionsRead } = page.context;
    events.add(page.count, namespace);
    seconds.observe(timeTakenMs / 1000, namespace, splitPartitionsRead > 0 ? "split" : "original");
    return page;
  };
  return {
    limits,
    readPage: async (query, signal) => count(await reader.readPage(query, signal)),
    stream: async function* (query, signal) {
      for await (const page of reader.stream(query, signal)) yield count(page);
    },
    explain: (query, signal) => reader.explain(query, signal),
  };
}

function blocksOf(
  config: ServiceConfig,
  blockedAt: number,
): ReadonlyMap<string, readonly BlockedId[]> {
  return new Map(
    Object.entries(config.block_ids).map(([namespace, ids]) => [
      namespace,
      ids.map(({ id, reason, expires }): BlockedId => {
        return { seriesId: id, reason, expiresAt: expires, blockedAt, source: "CONFIG" };
      }),
    ]),
  );
}

function marginsOf(config: ServiceConfig): ConfigMargins {
  return {
    clockSkewMicros: config.clock_skew * 1000,
    writeMaxMicros: config.write_max * 1000,
    viewMaxAgeMicros: config.view_max_age * 1000,
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

function logKeeper(log: Log, event: KeeperEvent): void {
  switch (event.kind) {
    case "failed":
      log.error({ namespace: event.namespace, err: event.error }, "keeping slices failed");
      break;
    case "drops refused":
      log.warn({ namespace: event.namespace, slices: event.count }, event.message);
      break;
    case "slices":
      log.info({ namespace: event.namespace, slices: event.slices }, `slices ${event.action}`);
      break;
    case "reopened":
    case "deleted":
      log.info({ namespace: event.namespace }, `namespace ${event.kind}`);
      break;
  }
}
