/**
 * The background work: records detections, carries out splits, advances read modes, and continues
 * the comparisons that operators started. It runs in the server if the queue is its own, otherwise
 * in workers.
 */
import type { Random } from "../lib/random.ts";
import type { Log } from "../lib/log.ts";
import type { PartitionKey } from "../model/partition.ts";
import { makeSplitTable } from "../namespaces/make-split-table.ts";
import { SplitWorker } from "../splits/work/split-worker.ts";
import type { SplitContext, SplitEvent } from "../splits/work/split-context.ts";
import { SplitCounts } from "../splits/operate/split-counts.ts";
import type { AdvanceThresholds } from "../splits/promote/advance.ts";
import { ReadModeReconciler } from "../splits/promote/read-mode-reconciler.ts";
import type { CommonParts } from "./common-parts.ts";
import type { ServiceConfig } from "./config.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { ReadCanary } from "./read-canary.ts";
import type { Runtime } from "./runtime.ts";
import type { WorkerMetrics } from "./worker-metrics.ts";

export interface SplittingOptions {
  /** The name of this process. */
  readonly by: string;
  readonly measures: WorkerMetrics;
  /** How long the live reads of this process take; not given if it serves none. */
  readonly readLatencyMs?: () => number | undefined;
  /** Called with a split that readers in this process may use from now on. */
  readonly confirmed?: (partition: PartitionKey) => void;
}

/** Unique per process: the records of splits name the process that works on them. */
export function processName(kind: "server" | "worker", random: Random): string {
  return `${kind}-${Buffer.from(random.bytes(6)).toString("hex")}`;
}

/** The lifecycle stops it. What it has copied so far is kept. */
export function startSplitting(
  config: ServiceConfig,
  runtime: Runtime,
  parts: CommonParts,
  lifecycle: Lifecycle,
  { by, measures, readLatencyMs, confirmed }: SplittingOptions,
): SplitWorker {
  const { clock, random, log } = runtime;
  const { catalog, store, storage, views, margins, time, changed } = parts;
  const observe = splitObserver(measures, log);
  const canary = readLatencyMs === undefined ? new ReadCanary({ store, views, clock }) : undefined;
  if (canary !== undefined) lifecycle.run("the read canary", (signal) => canary.run(signal));
  const worker = new SplitWorker({
    catalog,
    store,
    views,
    clock,
    random,
    by,
    margins,
    clockInDoubt: () => time.inDoubt,
    copyAtAll: storage.severalDatacenters,
    makeSplitTable: (namespace, slice, signal) => makeSplitTable(parts, namespace, slice, signal),
    fragments: (slice) => storage.fragments(slice),
    readLatencyMs: readLatencyMs ?? (() => canary?.recentMs()),
    tracer: runtime.tracing?.tracer,
    observe: (event) => {
      observe(event);
      if (event.kind === "split") confirmed?.(event.partition);
      if (event.kind === "moved") canary?.follow(event.namespace, event.partition);
    },
    sweepMs: config.splits.sweep_every,
    concurrency: config.splits.concurrency,
  });
  measures.splitsActive.from(() => worker.active);
  lifecycle.run("splitting", (signal) => worker.run(signal));

  const reconciler = new ReadModeReconciler({
    catalog,
    clock,
    by,
    thresholds: thresholdsOf(config),
    namespaceChanged: changed,
    everyMs: margins.viewMaxAge.ms,
    observe: ({ namespace, from, to, reason }) =>
      log.info(
        { namespace, from, to, reason },
        from === to ? "reads may now use another kind of split" : "the read mode has advanced",
      ),
    onFailed: (namespace, error) =>
      log.warn({ namespace, err: error }, "could not check a read mode"),
  });
  lifecycle.run("advancing read modes", (signal) => reconciler.run(signal));

  const splitCounts = new SplitCounts({
    catalog,
    store,
    clock,
    onFailed: (error) => log.warn({ err: error }, "could not count the splits"),
  });
  measures.splits.from(() => splitCounts.states());
  measures.splitStorage.from(() => splitCounts.storage());
  lifecycle.run("counting splits", (signal) => splitCounts.run(signal));
  return worker;
}

export function thresholdsOf({ splits }: ServiceConfig): AdvanceThresholds {
  return {
    shadowReads: splits.advance_reads,
    compareReads: splits.advance_reads,
    bytes: splits.advance_bytes,
    splits: splits.advance_splits,
    afterMs: splits.advance_after,
  };
}

function splitObserver(measures: WorkerMetrics, log: Log): SplitContext["observe"] {
  return (event: SplitEvent) => {
    switch (event.kind) {
      case "bytes":
        measures.splitBytes.add(event.bytes, event.namespace, event.stage);
        break;
      case "part":
        measures.splitSizes.observe(event.bytes, event.namespace, "after");
        break;
      case "split":
        measures.splitSizes.observe(event.partitionBytes, event.namespace, "before");
        break;
      case "moved": {
        const { namespace, partition, from, to, cause, reason } = event;
        measures.splitMoves.add(1, namespace, to);
        const { slice, timeBucket, eventBucket } = partition;
        log.info({ namespace, slice, timeBucket, eventBucket, from, to, cause, reason }, "split");
        break;
      }
      case "id step": {
        const { namespace, partition, factor } = event;
        const { slice, timeBucket } = partition;
        log.info(
          { namespace, slice, timeBucket, factor },
          "a time series id gets more event buckets",
        );
        break;
      }
      case "unreadable": {
        const { space, key, error } = event.entry;
        measures.unreadableEntries.add(1);
        log.error({ space, key, err: error }, "an entry cannot be decoded and is skipped");
        break;
      }
      case "trouble":
        log.warn({ namespace: event.namespace, err: event.error }, event.what);
        break;
    }
  };
}
