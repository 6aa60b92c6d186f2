/**
 * Composes the watches of a server: where their topics come from, and which changes of this process
 * wake them. Changes of other processes are found when a topic is loaded again.
 */
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import type { MetricsHistoryUseCase } from "../api/methods/metrics-history.ts";
import { LOADED_TOPICS } from "../api/watch/topics.ts";
import type { TopicSources } from "../api/watch/topics.ts";
import { Watches } from "../api/watch/watches.ts";
import type { WatchUseCase } from "../api/watch/watches.ts";
import { ControlService } from "../gen/braid/v1/control_service_pb.js";
import type { ServerContext } from "./server-context.ts";
import type { WorkerMetrics } from "./worker-metrics.ts";

export interface StartedWatches extends WatchUseCase {
  /** A request of this method has succeeded here. */
  called(method: string): void;
  close(): void;
}

export function newWatches(
  { runtime, parts, by }: ServerContext,
  sources: TopicSources & { readonly history: MetricsHistoryUseCase },
  worker: WorkerMetrics | undefined,
): StartedWatches {
  const watches = new Watches({
    clock: runtime.clock,
    process: by,
    sources,
    history: sources.history,
    viewMaxAgeMs: parts.margins.viewMaxAge.ms,
  });
  parts.onChanged((name) => watches.changed(LOADED_TOPICS, name));
  parts.measures.tunings.tap((_, [name]) => watches.changed(["TUNINGS"], name));
  // Without work of its own a server learns of moves as of every change by others.
  worker?.splitMoves.tap((_, [name]) => watches.changed(["SPLITS"], name));
  return {
    watch: (query, signal) => watches.watch(query, signal),
    called: (method) => {
      if (CHANGING.has(method)) watches.changed(LOADED_TOPICS);
    },
    close: () => watches.close(),
  };
}

/** Methods by which operators change something. */
const CHANGING: ReadonlySet<string> = new Set(
  ControlService.methods
    .filter(({ idempotency }) => idempotency !== Idempotency.NO_SIDE_EFFECTS)
    .map(({ name }) => name),
);
