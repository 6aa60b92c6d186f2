/**
 * The metrics of every process, server or worker: its build, the storage engine, the queue of
 * detections, and tunings. docs/operate/metrics.md says what each one means; a test keeps it true.
 */
import type { StatementKind } from "../engines/cassandra/session.ts";
import { BUILD_INFO } from "../lib/build-info.ts";
import { allOf, label, NAMESPACE, openLabel } from "../lib/metrics.ts";
import type { Metrics } from "../lib/metrics.ts";
import { TUNING_STATES } from "../model/tuning.ts";
import type { DropReason } from "../ports/work-queue.ts";
import type { ServiceConfig } from "./config.ts";
import { SPAN_RESULTS } from "./runtime.ts";

export type ProcessMetrics = ReturnType<typeof declareProcessMetrics>;

/**
 * The settings that other metrics approach: dashboards and alerts compare the two. Durations are in
 * seconds.
 */
const LIMITS = {
  "server.connections": ({ server }) => server.connections,
  "server.requests_in_flight": ({ server }) => server.requests_in_flight,
  "server.request_memory": ({ server }) => server.request_memory,
  "server.write_memory": ({ server }) => server.write_memory,
  "server.queue_memory": ({ server }) => server.queue_memory,
  "server.read_memory": ({ server }) => server.read_memory,
  "server.open_slices": ({ server }) => server.open_slices,
  "server.free_space_min": ({ server }) => server.free_space_min,
  "splits.concurrency": ({ splits }) => splits.concurrency,
  "splits.route_memory": ({ splits }) => splits.route_memory,
  view_max_age: ({ view_max_age }) => view_max_age / 1_000,
} satisfies Readonly<Record<string, (config: ServiceConfig) => number>>;

export function declareProcessMetrics(metrics: Metrics, config: ServiceConfig) {
  const { engine, queue } = config;
  metrics
    .gauges("braid_build_info", "Always 1: the labels say what runs.", [
      openLabel("version"),
      openLabel("build"),
      openLabel("node"),
      label("engine", allOf<ServiceConfig["engine"]>({ embedded: 0, cassandra: 0 })),
      label("queue", allOf<ServiceConfig["queue"]>({ embedded: 0, kafka: 0 })),
    ])
    .from(() => {
      const { version, build } = BUILD_INFO;
      return [{ value: 1, labels: [version, build, process.versions.node, engine, queue] }];
    });
  metrics
    .gauges("braid_limit", "A limit of this process, by setting: bytes, seconds or a number.", [
      label("setting", Object.keys(LIMITS)),
    ])
    .from(() =>
      Object.entries(LIMITS).map(([setting, of]) => ({ value: of(config), labels: [setting] })),
    );
  return {
    queueDropped: metrics.counter(
      "braid_queue_dropped_total",
      "Detections that the queue did not take, by reason. A later read finds them again.",
      [label("reason", allOf<DropReason>({ full: 0, too_large: 0, refused: 0, closed: 0 }))],
    ),
    queueDeadLetters: metrics.counter(
      "braid_queue_dead_letters_total",
      "Messages of the detection queue that are not detections.",
      [],
    ),
    queueRetries: metrics.counter(
      "braid_queue_retries_total",
      "Detections whose handling failed and is repeated.",
      [],
    ),
    clockDoubt: metrics.gauge(
      "braid_clock_doubt",
      "1 while this machine's clock is in doubt: no slice is closed or dropped.",
    ),
    clockLeapSeconds: metrics.gauge(
      "braid_clock_leap_seconds",
      "Time by which a doubted clock of this machine is ahead of believed time; negative if behind.",
    ),
    tunings: metrics.counter("braid_tunings_total", "Tunings that entered a state.", [
      NAMESPACE,
      label("outcome", TUNING_STATES),
    ]),
    queueLag: metrics.gauge("braid_queue_lag", "Detections that wait to be handled here."),
    viewAge: metrics.gauge(
      "braid_view_age_seconds",
      "Age of the oldest view of a namespace that this process holds.",
    ),
    traceSpans: metrics.totals(
      "braid_trace_spans_total",
      "Spans of traces by what became of them: sent, dropped (too many waited) or failed.",
      [label("result", SPAN_RESULTS)],
    ),
    sliceFailures: metrics.counter(
      "braid_slice_failures_total",
      "Attempts to create, close or drop slices that failed.",
      [],
    ),
  };
}

/** Metrics of the embedded engine. */
export function declareEmbeddedMetrics(metrics: Metrics) {
  return {
    commitSeconds: metrics.histogram(
      "braid_engine_commit_seconds",
      "Time of one commit of the embedded engine, fsync included.",
      [],
    ),
    appends: metrics.counter("braid_engine_appends_total", "Appends merged into commits.", []),
    committedBytes: metrics.counter(
      "braid_engine_committed_bytes_total",
      "Bytes of events committed.",
      [],
    ),
    verifiedBytes: metrics.counter(
      "braid_engine_verified_bytes_total",
      "Bytes of tables that the background verification has read again.",
      [],
    ),
    damagedTables: metrics.counter(
      "braid_engine_damaged_tables_total",
      "Tables that the background verification found damaged.",
      [],
    ),
    openSlices: metrics.gauge("braid_engine_open_slices", "Slices whose files are open."),
    diskFreeBytes: metrics.gauges(
      "braid_disk_free_bytes",
      "Free space of the data directory's disk; missing if server.free_space_min is 0.",
      [],
    ),
    diskReadOnly: metrics.gauge(
      "braid_disk_read_only",
      "1 while events are refused because the free space is below server.free_space_min.",
    ),
  };
}

const NODE = openLabel("node");

/** Metrics of the Cassandra engine. */
export function declareCassandraMetrics(metrics: Metrics) {
  return {
    statementSeconds: metrics.histogram(
      "braid_engine_statement_seconds",
      "Time of one statement of the Cassandra engine, by kind and outcome.",
      [
        label(
          "kind",
          allOf<StatementKind>({
            read: 0,
            write: 0,
            catalog_read: 0,
            catalog_change: 0,
            counts: 0,
            sizes: 0,
            walk: 0,
          }),
        ),
        label("outcome", ["ok", "failed"]),
      ],
    ),
    pendingReads: metrics.gauges(
      "braid_cassandra_pending_reads",
      "Reads that wait for a thread in a node of Cassandra.",
      [NODE],
    ),
    readTimeouts: metrics.totals(
      "braid_cassandra_read_timeouts_total",
      "Reads that a node of Cassandra coordinated and that were not answered in time.",
      [NODE],
    ),
    gcSeconds: metrics.totals(
      "braid_cassandra_gc_seconds_total",
      "Time that a node of Cassandra spent in garbage collections.",
      [NODE],
    ),
    cpuShare: metrics.gauges(
      "braid_cassandra_cpu_ratio",
      "Share of its machine's processors that a node of Cassandra uses.",
      [NODE],
    ),
    nodes: metrics.gauge(
      "braid_engine_nodes",
      "Cassandra nodes of this process's data centre, including those that are down.",
    ),
    nodesUp: metrics.gauge(
      "braid_engine_nodes_up",
      "Cassandra nodes of this process's data centre that it is connected to.",
    ),
  };
}
