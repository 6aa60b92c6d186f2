/**
 * The parts that every process of Braid has, server or worker: storage, views of the namespaces,
 * the reconciler of their slices, and the queue of detections.
 */
import { Metrics } from "../lib/metrics.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { BelievedTime, believedClock } from "../namespaces/believed-time.ts";
import type { ClockEvent } from "../namespaces/believed-time.ts";
import { NamespaceViews } from "../namespaces/namespace-views.ts";
import { SliceOwnership } from "../namespaces/slice-ownership.ts";
import { timeMargins } from "../model/time-margins.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import type { BlockedId } from "../model/namespace.ts";
import { formatTime } from "../wire/time-text.ts";
import type { Engine } from "../ports/engine.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { EventStore } from "../ports/event-store.ts";
import type { WorkQueue } from "../ports/work-queue.ts";
import { SliceReconciler } from "../namespaces/slice-reconciler.ts";
import type { ReconcilerEvent } from "../namespaces/reconcile/reconcile-run.ts";
import { agreeOnMargins } from "./agree-on-margins.ts";
import type { ServiceConfig } from "./config.ts";
import { openQueue } from "./detections.ts";
import { KnownNamespaces } from "./known-namespaces.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { declareProcessMetrics } from "./process-metrics.ts";
import type { ProcessMetrics } from "./process-metrics.ts";
import { openEngine } from "./open-engine.ts";
import { SPAN_RESULTS } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import { tracedStorage } from "./traced-storage.ts";

export interface CommonParts {
  readonly metrics: Metrics;
  readonly measures: ProcessMetrics;
  readonly known: KnownNamespaces;
  readonly storage: Engine;
  readonly store: EventStore;
  readonly catalog: Catalog;
  readonly views: NamespaceViews;
  readonly ownership: SliceOwnership;
  readonly margins: TimeMargins;
  readonly time: BelievedTime;
  /** The clock of all that happens to splits. */
  readonly believed: Clock;
  readonly queue: WorkQueue;
  readonly configuredBlocks: ReadonlyMap<string, readonly BlockedId[]>;
  /** Refreshes this process's view of a namespace. */
  changed(name: string): Promise<void>;
  /** Calls `listener` after each change of a namespace by this process. */
  onChanged(listener: (name: string) => void): void;
}

export async function startCommonParts(
  config: ServiceConfig,
  runtime: Runtime,
  lifecycle: Lifecycle,
): Promise<CommonParts> {
  const { clock, log } = runtime;
  const metrics = new Metrics();
  metrics.addProcess();
  const measures = declareProcessMetrics(metrics, config);
  const { tracing } = runtime;
  if (tracing !== undefined) {
    // The first to start is the last to stop: it sends what the others end with.
    lifecycle.run("sending traces", (signal) => tracing.run(signal));
    measures.traceSpans.from(() =>
      SPAN_RESULTS.map((result) => ({ value: tracing.spans()[result], labels: [result] })),
    );
  }
  const storage = await openEngine(config, runtime, metrics, lifecycle);
  const { store, catalog } =
    tracing === undefined ? storage : tracedStorage(storage, tracing.tracer);
  const configuredBlocks = blocksOf(config, clock.nowMicros());
  const margins = timeMargins({
    clockSkewMs: config.clock_skew,
    viewMaxAgeMs: config.view_max_age,
    writeMaxMs: config.write_max,
    pauseMaxMs: config.pause_max,
    believeMaxMs: config.believe_max,
    dropGraceMs: config.drop_grace,
  });
  await agreeOnMargins({ catalog, clock }, margins, (difference) => {
    log.warn(
      `the processes of this installation had other settings: ${difference}; waiting to see whether any runs`,
    );
  });
  const views = new NamespaceViews({
    catalog,
    clock,
    viewMaxAgeMs: margins.viewMaxAge.ms,
    configuredBlocks,
    onRefreshFailed: (namespace, error) =>
      log.warn({ namespace, err: error }, "could not refresh the view of a namespace"),
  });
  lifecycle.run("refreshing views", (signal) => views.run(signal));
  measures.viewAge.from(() => views.ages().oldestMs / 1_000);
  const known = new KnownNamespaces({ catalog, clock, metrics });
  lifecycle.run("listing namespaces for metrics", (signal) => known.run(signal));
  const listeners: ((name: string) => void)[] = [];
  const changed = async (name: string): Promise<void> => {
    await views.refresh(name);
    const view = views.current(name);
    if (view !== undefined) known.changed(view);
    for (const listener of listeners) listener(name);
  };
  const ownership = new SliceOwnership({ catalog, clock });
  const time = new BelievedTime({
    catalog,
    clock,
    margins,
    opinions: [() => storage.clockMicros()],
    observe: (event) => logClock(log, event),
  });
  measures.clockDoubt.from(() => (time.status().doubt === undefined ? 0 : 1));
  measures.clockLeapSeconds.from(() => (time.status().doubt?.leapMicros ?? 0) / 1_000_000);
  const reconciler = new SliceReconciler({
    catalog,
    store,
    ownership,
    clock,
    margins,
    time,
    changed,
    observe: (event) => {
      if (event.kind === "failed") measures.sliceFailures.add(1);
      logReconciler(log, event);
    },
  });
  lifecycle.run("the reconciler of slices", (signal) => reconciler.run(signal));
  const queue = await openQueue(config, runtime, measures, lifecycle);
  return {
    metrics,
    measures,
    known,
    storage,
    store,
    catalog,
    views,
    ownership,
    margins,
    time,
    believed: believedClock(clock, time),
    queue,
    configuredBlocks,
    changed,
    onChanged: (listener) => void listeners.push(listener),
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

function logClock(log: Log, event: ClockEvent): void {
  if (event.kind === "doubt began") log.warn({ leapMicros: event.leapMicros }, event.message);
  else log.info({ why: event.why }, "this machine's clock is believed again");
}

function logReconciler(log: Log, event: ReconcilerEvent): void {
  switch (event.kind) {
    case "failed":
      log.error(
        { namespace: event.namespace, err: event.error },
        "could not create or drop slices",
      );
      break;
    case "drops refused":
      log.warn({ namespace: event.namespace, slices: event.count }, event.message);
      break;
    case "slices":
      log.info({ namespace: event.namespace, slices: event.slices }, `slices ${event.action}`);
      break;
    case "floor taken back": {
      const [from, to] = [formatTime(event.from), formatTime(event.to)];
      const message = "a wrong clock had sealed the future: the floor is taken back";
      log.warn({ namespace: event.namespace, from, to }, message);
      break;
    }
    case "reopened":
    case "deleted":
    case "restored":
    case "purged":
      log.info({ namespace: event.namespace }, `namespace ${event.kind}`);
      break;
  }
}
