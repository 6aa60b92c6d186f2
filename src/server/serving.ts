/** Reads from splits, put together for a server: the door, the kill switch, and what is counted. */
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { Log } from "../lib/log.ts";
import { namespaceNameOf } from "../model/namespace.ts";
import { KillSwitch } from "../splits/record/kill-switch.ts";
import type { ServeObserver } from "../splits/serve/observer.ts";
import { SplitServing } from "./split-serving.ts";
import { fallBack } from "../splits/promote/read-mode-reconciler.ts";
import type { CommonParts } from "./common-parts.ts";
import type { ServiceConfig } from "./config.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Runtime } from "./runtime.ts";

export interface Serving {
  readonly splits: SplitServing;
  readonly killSwitch: KillSwitch;
}

export async function startServing(
  config: ServiceConfig,
  runtime: Runtime,
  { catalog, store, views, margins, metrics, changed }: CommonParts,
  lifecycle: Lifecycle,
  by: string,
): Promise<Serving> {
  const { clock, random, log } = runtime;
  const killSwitch = new KillSwitch({ catalog, clock, viewMaxAgeMs: margins.viewMaxAge.ms });
  // Until it is known, originals are served.
  await killSwitch.refresh();
  lifecycle.run("watching the kill switch", (signal) => killSwitch.run(signal));
  const splits = new SplitServing({
    catalog,
    store,
    views,
    clock,
    random,
    killSwitch,
    margins,
    observe: serveObserver(metrics, log, clock),
    fallBack: async (namespace, reason) => {
      if (!(await fallBack(catalog, clock, namespace, reason, by))) return;
      log.error({ namespace, reason }, "split and original differ: the read mode falls back");
      await changed(namespace);
    },
    by,
    shadowSample: config.splits.shadow_sample,
    serveSample: config.splits.serve_sample,
    routeBytesMax: config.splits.route_memory,
  });
  lifecycle.run("following splits", (signal) => splits.run(signal));
  addSizes(metrics, splits);
  return { splits, killSwitch };
}

function addSizes(metrics: Metrics, splits: SplitServing): void {
  const labels = ["namespace", "slice"];
  const of = (size: "entries" | "bytes") =>
    function* () {
      for (const filter of splits.filterSizes()) {
        const { namespaceId, slice } = filter.slice;
        yield { value: filter[size], labels: [namespaceNameOf(namespaceId), slice] };
      }
    };
  metrics.gauges("braid_filter_entries", "Split partitions in a filter.", labels, of("entries"));
  metrics.gauges("braid_filter_bytes", "Memory of a filter.", labels, of("bytes"));
  metrics.gauge("braid_wide_row_cache_bytes", "Routes and lists of parts at hand.", () => {
    return splits.routeBytes;
  });
}

/** The same again within this long is only counted. */
const TOLD_AGAIN_MS = 10_000;

/** Whether to tell of something now: the first of its kind, and then once in a while. Bounded. */
function onceInAWhile(clock: Clock): (kind: string) => boolean {
  const toldAtMs = new Map<string, number>();
  return (kind) => {
    const nowMs = clock.monotonicMs();
    if (nowMs - (toldAtMs.get(kind) ?? Number.NEGATIVE_INFINITY) < TOLD_AGAIN_MS) return false;
    if (toldAtMs.size >= 1_000) toldAtMs.clear();
    toldAtMs.set(kind, nowMs);
    return true;
  };
}

function serveObserver(metrics: Metrics, log: Log, clock: Clock): ServeObserver {
  const tell = onceInAWhile(clock);
  const checks = metrics.counter(
    "braid_filter_checks_total",
    "Partitions that were looked up in a filter, by what it said.",
    ["namespace", "result"],
  );
  const falsePositives = metrics.counter(
    "braid_filter_false_positives_total",
    "Filters that said perhaps where nothing is split.",
    ["namespace"],
  );
  const checkSeconds = metrics.histogram(
    "braid_filter_check_seconds",
    "Time of one look into a filter, of a sample.",
    ["namespace"],
    [1e-7, 2.5e-7, 5e-7, 1e-6, 2.5e-6, 5e-6, 1e-5, 1e-4, 1e-3],
  );
  const cache = metrics.counter("braid_wide_row_cache_total", "Routes that were wanted.", [
    "namespace",
    "result",
  ]);
  const fetchSeconds = metrics.histogram(
    "braid_wide_row_fetch_seconds",
    "Time to fetch a route or a list of parts.",
    ["namespace"],
  );
  const fallbacks = metrics.counter(
    "braid_fallbacks_total",
    "Reads that took the original although there is a split, by reason.",
    ["namespace", "reason"],
  );
  const comparisons = metrics.counter(
    "braid_comparisons_total",
    "Reads of splits and originals that were compared, by result.",
    ["namespace", "result"],
  );
  const compared = metrics.counter(
    "braid_compare_bytes_total",
    "Bytes that were compared, by result.",
    ["namespace", "result"],
  );
  return {
    filterChecked: (namespace, result) => checks.add(1, namespace, result.toLowerCase()),
    filterCheckTook: (namespace, seconds) => checkSeconds.observe(seconds, namespace),
    filterFalsePositive: (namespace) => falsePositives.add(1, namespace),
    routeCache: (namespace, result) => cache.add(1, namespace, result),
    routeFetchTook: (namespace, seconds) => fetchSeconds.observe(seconds, namespace),
    fellBack: (namespace, reason, detail) => {
      fallbacks.add(1, namespace, reason);
      // These two are the ordinary course of a split that is new.
      if (reason === "unconfirmed" || reason === "withdrawn") return;
      // Every read may meet it; how many do is in the metric.
      if (tell(`${namespace} ${reason}`)) {
        log.warn({ namespace, reason, detail }, "a read took the original instead of the split");
      }
    },
    compared: (namespace, _, result, bytes) => {
      comparisons.add(1, namespace, result.toLowerCase());
      if (result === "MATCH") compared.add(bytes, namespace, "match");
      if (result === "DIFFER") compared.add(bytes, namespace, "differ");
    },
    differenceChecked: (namespace, verdict, detail) =>
      log.warn({ namespace, verdict, detail }, "a difference was read again from all replicas"),
    trouble: (what, error) => log.warn({ err: error }, what),
  };
}
