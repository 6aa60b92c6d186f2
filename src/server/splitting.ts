/**
 * The work behind the reads: detections are recorded and splits carried out, read modes advance, and
 * comparisons that were asked for go on. In the server itself where the queue is its own, else in workers.
 */
import type { Random } from "../lib/random.ts";
import type { Log } from "../lib/log.ts";
import type { PartitionKey } from "../model/partition.ts";
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
  /** Which process this is. */
  readonly by: string;
  readonly measures: WorkerMetrics;
  /** How long the live reads of this process take; not given where it serves none. */
  readonly readLatencyMs?: () => number | undefined;
  /** Told of a split that may be served from now on, for readers in the same process. */
  readonly confirmed?: (partition: PartitionKey) => void;
}

/** Never used by two: records of splits say who is at them. */
export function processName(kind: "server" | "worker", random: Random): string {
  return `${kind}-${Buffer.from(random.bytes(6)).toString("hex")}`;
}

/** It is stopped with everything else: what it has copied so far is not lost. */
export function startSplitting(
  config: ServiceConfig,
  runtime: Runtime,
  { catalog, store, storage, views, margins, changed }: CommonParts,
  lifecycle: Lifecycle,
  { by, measures, readLatencyMs, confirmed }: SplittingOptions,
): SplitWorker {
  const { clock, random, log } = runtime;
  const observe = splitObserver(measures, log);
  const canary = readLatencyMs === undefined ? new ReadCanary({ store, views, clock }) : undefined;
  if (canary !== undefined) lifecycle.run("reading as a caller", (signal) => canary.run(signal));
  const worker = new SplitWorker({
    catalog,
    store,
    views,
    clock,
    random,
    by,
    margins,
    copyAtAll: storage.severalDatacenters,
    fragments: (slice) => storage.fragments(slice),
    readLatencyMs: readLatencyMs ?? (() => canary?.recentMs()),
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
        from === to ? "another kind of split may be served" : "the read mode has advanced",
      ),
    onFailed: (namespace, error) =>
      log.warn({ namespace, err: error }, "a read mode could not be looked at"),
  });
  lifecycle.run("advancing read modes", (signal) => reconciler.run(signal));

  const splitCounts = new SplitCounts({
    catalog,
    store,
    clock,
    onFailed: (error) => log.warn({ err: error }, "the splits could not be counted"),
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
        measures.splitSizes.observe(event.bytes, event.namespace, "before");
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
        log.info({ namespace, slice, timeBucket, factor }, "an id gets more event buckets");
        break;
      }
      case "trouble":
        log.warn({ namespace: event.namespace, err: event.error }, event.what);
        break;
    }
  };
}
