/** Composes the reads from splits for a server: the opener, the kill switch and the metrics. */
import { LRUCache } from "lru-cache";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { namespaceNameOf } from "../model/namespace.ts";
import { KillSwitch } from "../splits/record/kill-switch.ts";
import type { ServeObserver } from "../splits/serve/observer.ts";
import { SplitServing } from "./split-serving.ts";
import { fallBack } from "../splits/promote/read-mode-reconciler.ts";
import type { ServerContext } from "./server-context.ts";
import type { ServerMetrics } from "./server-metrics.ts";

export interface Serving {
  readonly splits: SplitServing;
  readonly killSwitch: KillSwitch;
}

export async function startServing(context: ServerContext): Promise<Serving> {
  const { config, runtime, parts, lifecycle, measures, by } = context;
  const { random, log } = runtime;
  const { catalog, store, views, margins, changed, believed: clock } = parts;
  const killSwitch = new KillSwitch({ catalog, clock, viewMaxAgeMs: margins.viewMaxAge.ms });
  // The server reads originals until it knows the state of the switch.
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
    observe: serveObserver(measures, log, clock),
    fallBack: async (namespace, reason) => {
      if (!(await fallBack(catalog, clock, namespace, reason, by))) return;
      log.error(
        { namespace: namespace.name, reason },
        "a split differs from its original; the read mode falls back",
      );
      await changed(namespace.name);
    },
    by,
    shadowSample: config.splits.shadow_sample,
    serveSample: config.splits.serve_sample,
    routeBytesMax: config.splits.route_memory,
  });
  lifecycle.run("following splits", (signal) => splits.run(signal));
  showSizes(measures, splits);
  measures.killSwitch.from(() => (killSwitch.on() ? 1 : 0));
  return { splits, killSwitch };
}

function showSizes(measures: ServerMetrics, splits: SplitServing): void {
  const of = (size: "entries" | "bytes") =>
    function* (): Generator<{ value: number; labels: [string, string] }, void, undefined> {
      for (const filter of splits.filterSizes()) {
        const { namespaceId, slice } = filter.slice;
        yield { value: filter[size], labels: [namespaceNameOf(namespaceId), slice] };
      }
    };
  measures.filterEntries.from(of("entries"));
  measures.filterBytes.from(of("bytes"));
  measures.routeCacheBytes.from(() => splits.routeBytes);
}

/** A repeat within this time is only counted, not logged. */
const TOLD_AGAIN_MS = 10_000;

/** Whether to log something now: the first of its kind, and then once in a while. Bounded. */
function onceInAWhile(clock: Clock): (kind: string) => boolean {
  const toldAtMs = new LRUCache<string, number>({ max: 1_000 });
  return (kind) => {
    const nowMs = clock.monotonicMs();
    if (nowMs - (toldAtMs.get(kind) ?? Number.NEGATIVE_INFINITY) < TOLD_AGAIN_MS) return false;
    toldAtMs.set(kind, nowMs);
    return true;
  };
}

function serveObserver(measures: ServerMetrics, log: Log, clock: Clock): ServeObserver {
  const tell = onceInAWhile(clock);
  return {
    filterChecked: (namespace, result) =>
      measures.filterChecks.add(1, namespace, lowercase(result)),
    filterCheckTook: (namespace, seconds) =>
      measures.filterCheckSeconds.observe(seconds, namespace),
    filterFalsePositive: (namespace) => measures.filterFalsePositives.add(1, namespace),
    routeCache: (namespace, result) => measures.routeCache.add(1, namespace, result),
    routeFetchTook: (namespace, seconds) => measures.routeFetchSeconds.observe(seconds, namespace),
    fellBack: (namespace, reason, detail) => {
      measures.fallbacks.add(1, namespace, reason);
      // Both are normal for a new split.
      if (reason === "unconfirmed" || reason === "withdrawn") return;
      // Every read may meet this; the metric says how many did.
      if (tell(`${namespace} ${reason}`)) {
        log.warn({ namespace, reason, detail }, "a read used the original instead of the split");
      }
    },
    compared: (namespace, _, result, bytes) => {
      measures.comparisons.add(1, namespace, lowercase(result));
      if (result === "MATCH") measures.comparedBytes.add(bytes, namespace, "match");
      if (result === "DIFFER") measures.comparedBytes.add(bytes, namespace, "differ");
    },
    differenceChecked: (namespace, verdict, detail) =>
      log.warn({ namespace, verdict, detail }, "rechecked a difference against all replicas"),
    trouble: (what, error) => log.warn({ err: error }, what),
  };
}

/** Label values are lower case. */
function lowercase<T extends string>(text: T): Lowercase<T> {
  return text.toLowerCase() as Lowercase<T>; // The type of toLowerCase does not say so.
}
