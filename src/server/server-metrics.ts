/**
 * The metrics of a server: events written and read, detections made, and reads from splits.
 * docs/operate/metrics.md says what each one means; a test keeps it true.
 */
import type { Outcome } from "../api/error-map.ts";
import { ControlService } from "../gen/braid/v1/control_service_pb.js";
import { TimeSeriesService } from "../gen/braid/v1/time_series_service_pb.js";
import type { Code, EventCode } from "../lib/errors.ts";
import { allOf, label, NAMESPACE, openLabel } from "../lib/metrics.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { AheadOutcome } from "../read/ahead-memory.ts";
import { READ_MODES } from "../model/read-mode.ts";
import type { DetectionOutcome } from "../splits/detect/detection-emitter.ts";
import type { FallbackReason } from "../splits/serve/fallback-reason.ts";
import type { ComparisonResult, FilterAnswer } from "../splits/serve/observer.ts";
import { SLO_BOUNDS } from "./known-namespaces.ts";

/** Outcomes of a request that are the server's fault, not its caller's. */
const ALERTABLE_CODES: readonly Code[] = [
  "OVERLOADED",
  "STORAGE_UNAVAILABLE",
  "DEADLINE_EXCEEDED",
  "OUTCOME_UNKNOWN",
  "DATA_LOSS",
  "INTERNAL",
];

const EVENT_CODES = allOf<EventCode>({
  EVENT_TOO_OLD: 0,
  EVENT_TOO_NEW: 0,
  EVENT_TOO_LARGE: 0,
  EVENT_INVALID: 0,
  ID_BLOCKED: 0,
  OVERLOADED: 0,
  OUTCOME_UNKNOWN: 0,
});

/** Codes with which a whole batch fails by the server's fault, not its caller's. */
const BATCH_CODES: readonly Code[] = ["STORAGE_UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL"];

const FILTER_ANSWERS = allOf<Lowercase<FilterAnswer>>({ none: 0, miss: 0, hit: 0, not_loaded: 0 });
const COMPARISON_RESULTS = allOf<Lowercase<ComparisonResult>>({
  match: 0,
  differ: 0,
  integrity_error: 0,
  failed: 0,
  skipped: 0,
});

const AHEAD_OUTCOME_LABELS = allOf<Lowercase<AheadOutcome>>({
  used: 0,
  left: 0,
  recalled: 0,
  withdrawn: 0,
  failed: 0,
});

const CODE = openLabel<Code | EventCode>("code");
const CODES_AT_ZERO = { code: [...EVENT_CODES, ...BATCH_CODES] };

export type ServerMetrics = ReturnType<typeof declareServerMetrics>;

export function declareServerMetrics(metrics: Metrics) {
  const declared = {
    connections: metrics.gauge("braid_connections", "Open connections."),
    readMode: metrics.gauges("braid_read_mode", "1 at the read mode of a namespace, 0 elsewhere.", [
      NAMESPACE,
      label("mode", READ_MODES),
    ]),
    splitsPaused: metrics.gauges(
      "braid_splits_paused",
      "1 while an operator has paused the splits of a namespace, 0 otherwise.",
      [NAMESPACE],
    ),
    readSlo: metrics.gauges(
      "braid_read_slo_seconds",
      "How long a page of a read should take: slos.read of the namespace.",
      [NAMESPACE, label("bound", SLO_BOUNDS)],
    ),
    ...requestMetrics(metrics),
    ...writeMetrics(metrics),
    ...readMetrics(metrics),
    ...servingMetrics(metrics),
  };
  // A namespace that does not exist has no series of its own: requests for it are counted without a
  // name.
  declared.refused.add(0, "", "NAMESPACE_NOT_FOUND");
  declared.writeQueueDropped.add(0, "", "NAMESPACE_NOT_FOUND");
  return declared;
}

function requestMetrics(metrics: Metrics) {
  const requests = metrics.counter(
    "braid_requests_total",
    "Requests answered, by method, code and namespace.",
    [openLabel("method"), openLabel<Outcome>("code"), NAMESPACE],
    {
      zeroAt: {
        method: TimeSeriesService.methods.map(({ name }) => name),
        code: ALERTABLE_CODES,
      },
    },
  );
  for (const { name } of [...TimeSeriesService.methods, ...ControlService.methods]) {
    for (const code of ALERTABLE_CODES) requests.add(0, name, code, "");
  }
  return {
    requests,
    requestSeconds: metrics.histogram(
      "braid_request_seconds",
      "Time from a request's arrival to the end of its answer.",
      [openLabel("method")],
    ),
    refusalSeconds: metrics.histogram(
      "braid_refusal_seconds",
      "Time from a request's arrival to the end of its refusal with OVERLOADED.",
      [],
    ),
    requestsInFlight: metrics.gauge("braid_requests_in_flight", "Requests being answered."),
    watchers: metrics.gauge("braid_watchers", "Calls of Watch that are open."),
    requestBytes: metrics.gauge(
      "braid_request_bytes_in_flight",
      "Bytes of the requests being answered.",
    ),
  };
}

function writeMetrics(metrics: Metrics) {
  return {
    written: metrics.counter("braid_written_events_total", "Events made durable.", [NAMESPACE]),
    refused: metrics.counter(
      "braid_refused_events_total",
      "Events of write requests that were not acknowledged, by code.",
      [NAMESPACE, CODE],
      { zeroAt: CODES_AT_ZERO },
    ),
    writeBytes: metrics.gauge("braid_write_bytes_in_flight", "Bytes being written."),
    writeQueueBytes: metrics.gauge(
      "braid_write_queue_bytes",
      "Bytes of events that are queued and not yet written.",
    ),
    writeQueueDropped: metrics.counter(
      "braid_write_queue_dropped_events_total",
      "Events that were queued and then not written, by code.",
      [NAMESPACE, CODE],
      { zeroAt: CODES_AT_ZERO },
    ),
  };
}

function readMetrics(metrics: Metrics) {
  return {
    readEvents: metrics.counter("braid_read_events_total", "Events returned.", [NAMESPACE]),
    readSeconds: metrics.histogram("braid_read_seconds", "Time of one page, by what it read.", [
      NAMESPACE,
      label("route", ["original", "wide_original", "split"]),
    ]),
    partialReturns: metrics.counter(
      "braid_partial_returns_total",
      "Pages that ended early at the latency limit, as their callers allowed.",
      [NAMESPACE],
    ),
    readBytes: metrics.gauge("braid_read_bytes_in_flight", "Bytes held by reads."),
    readFanOut: metrics.gauges(
      "braid_read_fan_out",
      "Time buckets that the next read may read at once.",
      [NAMESPACE],
    ),
    readAheadBytes: metrics.counter(
      "braid_read_ahead_bytes_total",
      "Bytes that reads have read ahead of the time bucket they were at, by what became of them.",
      [NAMESPACE, label("outcome", AHEAD_OUTCOME_LABELS)],
    ),
    partitionBytes: metrics.histogram(
      "braid_partition_read_bytes",
      "Bytes read of one original partition by one read.",
      [NAMESPACE],
      { buckets: [1e3, 1e4, 1e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 1e9] },
    ),
    detections: metrics.counter(
      "braid_detections_total",
      "Reads that found a partition wide, by outcome.",
      [
        NAMESPACE,
        label(
          "outcome",
          allOf<DetectionOutcome>({
            emitted: 0,
            repeated: 0,
            dropped: 0,
            off: 0,
            gone: 0,
            expiring: 0,
            blocked: 0,
          }),
        ),
      ],
    ),
  };
}

function servingMetrics(metrics: Metrics) {
  return {
    killSwitch: metrics.gauge(
      "braid_kill_switch",
      "1 while this server reads originals only: the kill switch is on, or its state is unknown.",
    ),
    filterEntries: metrics.gauges("braid_filter_entries", "Split partitions in a filter.", [
      NAMESPACE,
      openLabel("slice"),
    ]),
    filterBytes: metrics.gauges("braid_filter_bytes", "Memory of a filter.", [
      NAMESPACE,
      openLabel("slice"),
    ]),
    filterChecks: metrics.counter(
      "braid_filter_checks_total",
      "Partitions that were looked up in a filter, by its answer.",
      [NAMESPACE, label("result", FILTER_ANSWERS)],
    ),
    filterCheckSeconds: metrics.histogram(
      "braid_filter_check_seconds",
      "Time of one lookup in a filter, for a sample of them.",
      [NAMESPACE],
      { buckets: [1e-7, 2.5e-7, 5e-7, 1e-6, 2.5e-6, 5e-6, 1e-5, 1e-4, 1e-3] },
    ),
    filterFalsePositives: metrics.counter(
      "braid_filter_false_positives_total",
      "Filter hits of partitions that have no route.",
      [NAMESPACE],
    ),
    routeCache: metrics.counter(
      "braid_route_cache_total",
      "Routes that reads asked for, by whether they were in memory.",
      [NAMESPACE, label("result", ["hit", "miss"])],
      { formerly: "braid_wide_row_cache_total" },
    ),
    routeCacheBytes: metrics.gauge(
      "braid_route_cache_bytes",
      "Memory of routes and lists of parts.",
      "braid_wide_row_cache_bytes",
    ),
    routeFetchSeconds: metrics.histogram(
      "braid_route_fetch_seconds",
      "Time to fetch a route or a list of parts.",
      [NAMESPACE],
      { formerly: "braid_wide_row_fetch_seconds" },
    ),
    fallbacks: metrics.counter(
      "braid_fallbacks_total",
      "Reads that took the original although there is a split, by reason.",
      [
        NAMESPACE,
        label(
          "reason",
          allOf<FallbackReason>({
            route: 0,
            integrity: 0,
            storage: 0,
            epoch: 0,
            stale: 0,
            unconfirmed: 0,
            withdrawn: 0,
            quarantined: 0,
          }),
        ),
      ],
    ),
    comparisons: metrics.counter(
      "braid_comparisons_total",
      "Comparisons of a split with its original, by result.",
      [NAMESPACE, label("result", COMPARISON_RESULTS)],
    ),
    comparedBytes: metrics.counter(
      "braid_compare_bytes_total",
      "Bytes that were compared, by result.",
      [NAMESPACE, label("result", ["match", "differ"])],
    ),
  };
}
