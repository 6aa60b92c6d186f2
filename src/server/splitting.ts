/**
 * The work behind the reads: detections are recorded and splits carried out, read modes advance, and
 * comparisons that were asked for go on. In the server itself where the queue is its own, else in workers.
 */
import type { Metrics } from "../lib/metrics.ts";
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

export interface SplittingOptions {
  /** Which process this is. */
  readonly by: string;
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
  { catalog, store, storage, views, margins, metrics, changed }: CommonParts,
  lifecycle: Lifecycle,
  { by, readLatencyMs, confirmed }: SplittingOptions,
): SplitWorker {
  const { clock, random, log } = runtime;
  const observe = splitObserver(metrics, log);
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
    compactCommand: (slice) => storage.compactCommand(slice),
    readLatencyMs: readLatencyMs ?? (() => canary?.recentMs()),
    observe: (event) => {
      observe(event);
      if (event.kind === "split") confirmed?.(event.partition);
      if (event.kind === "moved") canary?.follow(event.namespace, event.partition);
    },
    sweepMs: config.splits.sweep_every,
    concurrency: config.splits.concurrency,
  });
  metrics.gauge("braid_splits_active", "Splits that this process works on.", () => worker.active);
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
  metrics.gauges(
    "braid_splits",
    "Splits by state; told by one process for all.",
    ["namespace", "state"],
    () => splitCounts.states(),
  );
  metrics.gauges(
    "braid_split_storage_bytes",
    "Space of all splits' tables, about; told by one process for all.",
    ["namespace"],
    () => splitCounts.storage(),
  );
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

function splitObserver(metrics: Metrics, log: Log): SplitContext["observe"] {
  const bytes = metrics.counter(
    "braid_split_bytes_total",
    "Bytes of events that went through splitting, by stage.",
    ["namespace", "stage"],
  );
  const sizes = metrics.histogram(
    "braid_split_partition_bytes",
    "Sizes of partitions before and of parts after a split.",
    ["namespace", "when"],
    [1e4, 1e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8, 1e9],
  );
  const moves = metrics.counter("braid_split_moves_total", "Splits that entered a state.", [
    "namespace",
    "state",
  ]);
  return (event: SplitEvent) => {
    switch (event.kind) {
      case "bytes":
        bytes.add(event.bytes, event.namespace, event.stage);
        break;
      case "part":
        sizes.observe(event.bytes, event.namespace, "after");
        break;
      case "split":
        sizes.observe(event.bytes, event.namespace, "before");
        break;
      case "moved": {
        const { namespace, partition, from, to, reason } = event;
        moves.add(1, namespace, to);
        const { slice, timeBucket, eventBucket } = partition;
        log.info({ namespace, slice, timeBucket, eventBucket, from, to, reason }, "split");
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
