/**
 * Takes a sample of the server's figures every second. An idle server does next to nothing for it:
 * a sample is about a hundred additions and no request to the storage, except for the number of
 * splits, which one process counts for all once a minute.
 */
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import type { MetricsHistoryUseCase } from "../api/methods/metrics-history.ts";
import type { Outcome } from "../api/error-map.ts";
import type { Clock } from "../lib/clock.ts";
import type { SplitState } from "../model/split.ts";
import { readCountedSplits } from "../records/split-count-records.ts";
import { keepRequest, keepSeries } from "./history-series.ts";
import { MetricsHistory } from "./metrics-history.ts";
import type { ServerContext } from "./server-context.ts";

const EVERY_MS = 1_000;
const SPLITS_EVERY_MS = 15_000;
/** The event loop's delay is measured by a timer of its own that fires this often. */
const LOOP_RESOLUTION_MS = 20;

export interface Sampling extends MetricsHistoryUseCase {
  /** A request has ended. `namespace` is "" if it does not exist. */
  request(method: string, outcome: Outcome, namespace: string, ms: number): void;
}

export function startSampling(context: ServerContext): Sampling {
  const { runtime, parts, lifecycle, measures, by } = context;
  const { clock } = runtime;
  const history = new MetricsHistory();
  const startedAt = clock.nowMicros();
  const listeners = new Set<() => void>();
  let splits: ReadonlyMap<SplitState, number> | undefined;
  keepSeries(history, measures, {
    ...loopLevels(context),
    queueLag: () => parts.measures.queueLag.value(),
    viewAgeSeconds: () => parts.views.ages().oldestMs / 1000,
    rssBytes: () => process.memoryUsage.rss(),
    heapBytes: () => process.memoryUsage().heapUsed,
    splitsIn: (state) => splits?.get(state) ?? Number.NaN,
  });
  const sample = (now: number, seconds: number): void => {
    history.sample(now, seconds);
    for (const listener of listeners) listener();
  };
  lifecycle.run("sampling figures", (signal) => sampleEverySecond(clock, sample, signal));
  lifecycle.run("reading the number of splits", async (signal) => {
    while (!signal.aborted) {
      try {
        splits = (await readCountedSplits(parts.catalog))?.states;
      } catch {
        // A level that is not known is a gap.
        splits = undefined;
      }
      await clock.sleep(SPLITS_EVERY_MS, signal);
    }
  });
  return {
    read: (query) => ({ ...history.read(query), process: by, startedAt }),
    onSample: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    request: (method, outcome, namespace, ms) =>
      keepRequest(history, method, outcome, namespace, ms),
  };
}

function loopLevels({ lifecycle }: ServerContext) {
  const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  delay.enable();
  lifecycle.started("measuring the event loop", async () => delay.disable());
  let before = performance.eventLoopUtilization();
  return {
    loopDelaySeconds: () => {
      // It measures the whole time between its timer's calls.
      const seconds = Math.max(0, delay.max / 1e9 - LOOP_RESOLUTION_MS / 1e3);
      const known = delay.count > 0;
      delay.reset();
      return known ? seconds : Number.NaN;
    },
    loopUse: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      return utilization;
    },
  };
}

/** At the end of each second of the clock. Never rejects. */
async function sampleEverySecond(
  clock: Clock,
  sample: (now: number, seconds: number) => void,
  signal: AbortSignal,
): Promise<void> {
  let lastMs = clock.monotonicMs();
  for (;;) {
    const restMs = EVERY_MS - (Math.round(clock.nowMicros() / 1000) % EVERY_MS);
    // Two samples of one second would be one too many.
    await clock.sleep(restMs < EVERY_MS / 2 ? restMs + EVERY_MS : restMs, signal);
    if (signal.aborted) return;
    const nowMs = clock.monotonicMs();
    const elapsedMs = nowMs - lastMs;
    lastMs = nowMs;
    if (elapsedMs > 0) sample(clock.nowMicros(), elapsedMs / 1000);
  }
}
