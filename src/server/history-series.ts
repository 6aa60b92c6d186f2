/**
 * Which figures of a server the history keeps, and where they come from: the metrics, and levels
 * read at each sample. docs/operate/metrics.md lists the series.
 */
import type { Outcome } from "../api/error-map.ts";
import { SPLIT_STATES } from "../model/split.ts";
import type { SplitState } from "../model/split.ts";
import { Level, Rate, Times } from "./figures.ts";
import type { MetricsHistory, SeriesGroup } from "./metrics-history.ts";
import type { ServerMetrics } from "./server-metrics.ts";

/** Levels of the process; NaN while one is not known. */
export interface ProcessLevels {
  readonly queueLag: () => number;
  readonly viewAgeSeconds: () => number;
  /** The longest delay of the event loop since the last call. */
  readonly loopDelaySeconds: () => number;
  /** The share of time that the event loop was busy since the last call. */
  readonly loopUse: () => number;
  readonly rssBytes: () => number;
  readonly heapBytes: () => number;
  readonly splitsIn: (state: SplitState) => number;
}

/** Codes by which a caller learns that something took too long. */
const TIMEOUTS: ReadonlySet<Outcome> = new Set<Outcome>(["DEADLINE_EXCEEDED", "OUTCOME_UNKNOWN"]);
const WRITES: ReadonlySet<string> = new Set(["WriteEventRecordsSync", "WriteEventRecords"]);

/** Series of the process that are shown before the first of their kind has happened. */
const SHOWN_AT_ZERO: readonly (readonly [name: string, unit: string])[] = [
  ["requests", "1/s"],
  ["reads", "1/s"],
  ["read_events", "events/s"],
  ["partial_returns", "1/s"],
  ["writes", "1/s"],
  ["written_events", "events/s"],
  ["refused_events", "events/s"],
  ["timeouts", "1/s"],
  ["refusals", "1/s"],
  ["detections", "1/s"],
  ["fallbacks", "1/s"],
  ["compare_bytes.match", "B/s"],
  ["compare_bytes.differ", "B/s"],
  ["filter_checks", "1/s"],
  ["filter_false_positives", "1/s"],
];

export function keepSeries(
  history: MetricsHistory,
  measures: ServerMetrics,
  levels: ProcessLevels,
): void {
  for (const [name, unit] of SHOWN_AT_ZERO) rate(history.process, name, unit);
  for (const name of ["read_latency", "write_latency"]) times(history.process, name);
  keepReads(history, measures);
  keepServing(history, measures);
  keepLevels(history.process, measures, levels);
}

/** Keeps one finished request. `namespace` is "" if it does not exist. */
export function keepRequest(
  history: MetricsHistory,
  method: string,
  outcome: Outcome,
  namespace: string,
  ms: number,
): void {
  const refused = outcome !== "OK" && outcome !== "CANCELLED";
  for (const group of groups(history, namespace)) {
    if (WRITES.has(method)) {
      rate(group, "writes", "1/s").add(1);
      if (outcome === "OK") times(group, "write_latency").add(ms / 1000);
    }
    if (TIMEOUTS.has(outcome)) rate(group, "timeouts", "1/s").add(1);
    if (refused) rate(group, "refusals", "1/s").add(1);
  }
  rate(history.process, "requests", "1/s").add(1);
  if (refused) rate(history.process, `refusals.${outcome}`, "1/s").add(1);
}

function keepReads(history: MetricsHistory, measures: ServerMetrics): void {
  const { process } = history;
  measures.readSeconds.tap((seconds, [namespace, route]) => {
    for (const group of groups(history, namespace, 1)) {
      rate(group, "reads", "1/s").add(1);
      rate(group, `reads.${route}`, "1/s").add(1);
      times(group, "read_latency").add(seconds);
    }
    times(process, `read_latency.${route}`).add(seconds);
  });
  measures.readEvents.tap((events, [namespace]) => {
    for (const group of groups(history, namespace)) {
      rate(group, "read_events", "events/s").add(events);
    }
  });
  measures.partialReturns.tap((amount, [namespace]) => {
    for (const group of groups(history, namespace)) {
      rate(group, "partial_returns", "1/s").add(amount);
    }
  });
  measures.written.tap((events, [namespace]) => {
    for (const group of groups(history, namespace, events)) {
      rate(group, "written_events", "events/s").add(events);
    }
  });
  measures.refused.tap((events, [namespace, code]) => {
    for (const group of groups(history, namespace)) {
      rate(group, "refused_events", "events/s").add(events);
    }
    rate(process, `refused_events.${code}`, "events/s").add(events);
  });
}

function keepServing(history: MetricsHistory, measures: ServerMetrics): void {
  const { process } = history;
  measures.detections.tap((amount, [, outcome]) => {
    rate(process, "detections", "1/s").add(amount);
    rate(process, `detections.${outcome}`, "1/s").add(amount);
  });
  measures.comparedBytes.tap((bytes, [namespace, result]) => {
    for (const group of groups(history, namespace)) {
      rate(group, `compare_bytes.${result}`, "B/s").add(bytes);
    }
  });
  measures.fallbacks.tap((amount, [namespace, reason]) => {
    for (const group of groups(history, namespace)) rate(group, "fallbacks", "1/s").add(amount);
    rate(process, `fallbacks.${reason}`, "1/s").add(amount);
  });
  measures.filterChecks.tap((amount, [, result]) => {
    rate(process, "filter_checks", "1/s").add(amount);
    rate(process, `filter_checks.${result}`, "1/s").add(amount);
  });
  measures.filterFalsePositives.tap((amount) => {
    rate(process, "filter_false_positives", "1/s").add(amount);
  });
}

function keepLevels(process: SeriesGroup, measures: ServerMetrics, levels: ProcessLevels): void {
  const level = (name: string, unit: string, fold: "mean" | "max", read: () => number): void => {
    process.figure(name, () => new Level(unit, fold, read));
  };
  level("requests_in_flight", "requests", "max", () => measures.requestsInFlight.value());
  level("connections", "connections", "max", () => measures.connections.value());
  level("write_queue_bytes", "B", "max", () => measures.writeQueueBytes.value());
  level("queue_lag", "detections", "max", levels.queueLag);
  level("view_age", "s", "max", levels.viewAgeSeconds);
  level("event_loop_delay", "s", "max", levels.loopDelaySeconds);
  level("event_loop_use", "ratio", "mean", levels.loopUse);
  level("memory.rss", "B", "max", levels.rssBytes);
  level("memory.heap", "B", "max", levels.heapBytes);
  for (const state of SPLIT_STATES) {
    level(`splits.${state}`, "splits", "max", () => levels.splitsIn(state));
  }
}

/** The process, and the namespace if it has series. */
function groups(history: MetricsHistory, namespace: string, activity = 0): SeriesGroup[] {
  const own = namespace === "" ? undefined : history.namespace(namespace, activity);
  return own === undefined ? [history.process] : [history.process, own];
}

function rate(group: SeriesGroup, name: string, unit: string): Rate {
  return group.figure(name, () => new Rate(unit, group.before));
}

function times(group: SeriesGroup, name: string): Times {
  return group.figure(name, () => new Times());
}
