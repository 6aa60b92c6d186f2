/**
 * Composes `braid serve` from its parts. Each part has a file in this folder, named for what it
 * does.
 */
import type { Listener } from "../api/listen.ts";
import { Doctor } from "../doctor/doctor.ts";
import { allMethods } from "../api/methods/all-methods.ts";
import type { PartitionKey } from "../model/partition.ts";
import { Namespaces } from "../namespaces/namespaces.ts";
import { Planner } from "../provision/planner.ts";
import { IdFinder } from "../sizes/find-ids.ts";
import { PartitionListing } from "../sizes/list-partitions.ts";
import { SliceSizes } from "../sizes/slice-sizes.ts";
import { WidthMaps } from "../sizes/width-maps.ts";
import { DeadDetections } from "../splits/detect/dead-detections.ts";
import { holdsEvents } from "../splits/operate/holds-events.ts";
import { Splits } from "../splits/operate/splits.ts";
import { ReadModes } from "../splits/promote/read-modes.ts";
import { newAnnouncer, startAnnouncing } from "./announcing.ts";
import type { UnreadableEntry } from "../records/stored-json.ts";
import { startCommonParts } from "./common-parts.ts";
import type { ServiceConfig } from "./config.ts";
import { consumeOwnDetections } from "./detections.ts";
import { Lifecycle } from "./lifecycle.ts";
import { startListening } from "./listening.ts";
import type { Ended } from "./listening.ts";
import { LiveLatency } from "./live-latency.ts";
import { ReadLatencies } from "./read-latencies.ts";
import { startReading } from "./reading.ts";
import type { Runtime } from "./runtime.ts";
import { startSampling } from "./sampling.ts";
import type { ServerContext } from "./server-context.ts";
import { declareServerMetrics } from "./server-metrics.ts";
import { startServing } from "./serving.ts";
import type { Serving } from "./serving.ts";
import { processName, startSplitting, thresholdsOf } from "./splitting.ts";
import { splitRouteOf } from "./split-route.ts";
import { StatusReporter } from "./status-reporter.ts";
import { newTunings, startTuner } from "./tuning.ts";
import { startVerifying } from "./verifying.ts";
import { startWalking } from "./walking.ts";
import { newWatches } from "./watching.ts";
import { declareWorkerMetrics } from "./worker-metrics.ts";
import type { WorkerMetrics } from "./worker-metrics.ts";
import { startWriting } from "./writing.ts";

export interface Service {
  readonly port: number;
  /** Finishes requests in flight, flushes queued writes, and closes everything. */
  stop(): Promise<void>;
}

/**
 * Starts everything, the listener last. If a part cannot start, the parts before it are stopped.
 */
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
  const { clock, random } = runtime;
  const parts = await startCommonParts(config, runtime, lifecycle);
  const { catalog, storage } = parts;
  const measures = declareServerMetrics(parts.metrics);
  measures.readMode.from(() => parts.known.readModes());
  measures.splitsPaused.from(() => parts.known.paused());
  measures.readSlo.from(() => parts.known.readSlos());
  const by = processName("server", random);
  const context = { config, runtime, parts, lifecycle, measures, by };
  const sampling = startSampling(context);
  const serving = await startServing(context);
  const announcer = newAnnouncer(config, runtime, parts, lifecycle, {
    by,
    role: config.queue === "embedded" ? "SERVER_AND_WORKER" : "SERVER",
    oldestFilterMs: () => serving.splits.oldestFilterMs(),
  });
  const latency = new LiveLatency(clock);
  const work = startOwnWork(context, serving, latency);
  const verify = startVerifying(parts, runtime, lifecycle, by, (reported, signal) =>
    serving.splits.recheck(reported, signal),
  );
  const writing = startWriting(context);
  const latencies = new ReadLatencies(clock);
  const reading = await startReading(context, serving.splits.opener, latency, latencies);
  const tunings = newTunings(runtime, parts);
  const useCases = {
    writing,
    reading: reading.methods,
    namespaces: new Namespaces({ ...parts, clock, random }),
    planner: new Planner({ margins: parts.margins, clock }),
    sizes: new SliceSizes({ catalog, clock, sources: [reading.sizes, ...storage.sizes] }),
    tunings,
    partitions: newPartitionListing(context, serving),
    ids: new IdFinder({ catalog, clock, store: parts.store }),
    maps: new WidthMaps({ catalog, clock, unreadable: unreadableSplit(context) }),
    doctor: new Doctor({
      catalog,
      tunings: (namespace) => tunings.list(namespace),
      recentReads: (namespace) => latencies.recent(namespace),
      fragments: (slice) => storage.fragments(slice),
      droppedSnapshots: async (namespaceId) => storage.droppedSnapshots?.(namespaceId),
    }),
    splits: newSplits(context, serving, work.nudge),
    modes: newReadModes(context, serving),
    verify,
    queue: { detections: newDeadDetections(context), kind: config.queue, process: by },
    status: new StatusReporter(config, runtime, parts, by),
    servers: announcer,
    filters: {
      process: by,
      viewMaxAgeMs: parts.margins.viewMaxAge.ms,
      figures: () => serving.splits.filterFigures(),
    },
    history: sampling,
  };
  const watches = newWatches(context, useCases, work.measures);
  const methods = allMethods({ ...useCases, watches });
  const ended: Ended = (method, outcome, namespace, ms) => {
    sampling.request(method, outcome, namespace, ms);
    if (outcome === "OK") watches.called(method);
  };
  const listener = await startListening(context, methods, serving.killSwitch, ended);
  // They stop before the listener, which waits for calls in flight.
  lifecycle.started("the watches", async () => watches.close());
  startAnnouncing(announcer, lifecycle);
  return listener;
}

/**
 * With a queue of its own, the server does the work on splits itself. With a shared queue, `braid
 * worker` does it, and a split requested here waits for a worker's sweep. `nudge` is called when a
 * split is due at once.
 */
function startOwnWork(
  { config, runtime, parts, lifecycle, by }: ServerContext,
  serving: Serving,
  latency: LiveLatency,
): { readonly nudge: (partition: PartitionKey) => void; readonly measures?: WorkerMetrics } {
  if (config.queue !== "embedded") return { nudge: () => undefined };
  const measures = declareWorkerMetrics(parts.metrics);
  const believing = { ...runtime, clock: parts.believed };
  const worker = startSplitting(config, believing, parts, lifecycle, {
    by,
    measures,
    readLatencyMs: () => latency.recentMs(),
    confirmed: (partition) => serving.splits.changed(partition),
  });
  startTuner(config, runtime, parts, lifecycle);
  startWalking(config, runtime, parts, lifecycle, measures);
  const nudge = (partition: PartitionKey): void => worker.nudge(partition);
  consumeOwnDetections({ ...parts, by, nudge }, believing, measures, lifecycle);
  return { nudge, measures };
}

function newPartitionListing(context: ServerContext, { killSwitch }: Serving): PartitionListing {
  return new PartitionListing({
    catalog: context.parts.catalog,
    clock: context.runtime.clock,
    routeOf: (namespace, slice, split) => splitRouteOf(namespace, slice, split, killSwitch.on()),
    unreadable: unreadableSplit(context),
  });
}

function unreadableSplit({ runtime }: ServerContext): (entry: UnreadableEntry) => void {
  return ({ space, key, error }) =>
    runtime.log.error({ space, key, err: error }, "a split cannot be decoded: lists omit it");
}

function newSplits(
  context: ServerContext,
  serving: Serving,
  nudge: (partition: PartitionKey) => void,
): Splits {
  const { parts } = context;
  const { catalog, store } = parts;
  return new Splits({
    catalog,
    clock: parts.believed,
    nudge,
    unreadable: unreadableSplit(context),
    changed: (partition) => serving.splits.changed(partition),
    holdsEvents: (partition) => holdsEvents(store, partition),
    namespaceChanged: parts.changed,
  });
}

function newDeadDetections({ runtime, parts }: ServerContext): DeadDetections {
  return new DeadDetections({
    catalog: parts.catalog,
    clock: runtime.clock,
    queue: parts.queue,
    observe: ({ by: operator, action, letters, reason }) =>
      runtime.log.warn({ operator, letters, reason }, `an operator ${action} dead letters`),
  });
}

function newReadModes({ config, runtime, parts }: ServerContext, serving: Serving): ReadModes {
  const { log } = runtime;
  return new ReadModes({
    catalog: parts.catalog,
    clock: parts.believed,
    thresholds: thresholdsOf(config),
    namespaceChanged: parts.changed,
    killSwitchChanged: () => serving.killSwitch.refresh(),
    observeKillSwitch: ({ on, by: operator, reason: why }, unchanged) =>
      log.warn(
        { on, operator, reason: why },
        unchanged
          ? "an operator set the kill switch again; nothing changes"
          : "an operator set the kill switch",
      ),
  });
}
