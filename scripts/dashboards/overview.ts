/** Is it well: alerts, requests, events written and read, and how near the limits are. */
import { chart, figure, table } from "./panel.ts";
import type { Row } from "./panel.ts";
import { maxBy, quantileBy, rateBy, riseBy, series, shareOfLimit, sumBy } from "./promql.ts";

/** Codes that are the server's fault, not its caller's. */
const FAILED = 'code=~"STORAGE_UNAVAILABLE|DEADLINE_EXCEEDED|OUTCOME_UNKNOWN|DATA_LOSS|INTERNAL"';
const REFUSED = 'code="OVERLOADED"';
const READ_METHODS = 'method=~"ReadEventRecords|StreamEventRecords"';

/** The limits that requests meet, by the metric that approaches them. */
const LIMITED: Readonly<Record<string, string>> = {
  braid_requests_in_flight: "server.requests_in_flight",
  braid_request_bytes_in_flight: "server.request_memory",
  braid_write_bytes_in_flight: "server.write_memory",
  braid_write_queue_bytes: "server.queue_memory",
  braid_read_bytes_in_flight: "server.read_memory",
  braid_connections: "server.connections",
};

export const OVERVIEW: readonly Row[] = [
  {
    title: "Now",
    panels: [
      figure("Alerts firing", {
        unit: "short",
        description: "Alerts of Braid that fire in this installation. The table below names them.",
        queries: [
          {
            expr: 'count(ALERTS{alertname=~"Braid.+",alertstate="firing",job=~"$job|"}) or vector(0)',
            legend: "alerts",
          },
        ],
        thresholds: [{ from: 1, color: "red" }],
      }),
      figure("Processes up", {
        unit: "short",
        description: "Servers and workers that Prometheus reaches.",
        queries: [{ expr: `sum(${series("up")})`, legend: "up" }],
        alerts: ["BraidTargetDown", "BraidAbsent"],
      }),
      figure("Processes down", {
        unit: "short",
        description: "Servers and workers that Prometheus knows and does not reach.",
        queries: [{ expr: `sum(${series("up")} == bool 0)`, legend: "down" }],
        thresholds: [{ from: 1, color: "red" }],
        alerts: ["BraidTargetDown"],
      }),
      figure("Kill switch", {
        unit: "none",
        description:
          "On: all reads use originals, on at least one server. braid kill-switch status says who turned it on and why.",
        queries: [{ expr: `max(${series("braid_kill_switch")})`, legend: "kill switch" }],
        thresholds: [{ from: 1, color: "orange" }],
        words: { "0": ["off", "green"], "1": ["on", "orange"] },
        alerts: ["BraidKillSwitchOn"],
      }),
      figure("Namespaces with paused splits", {
        unit: "short",
        description: "braid status says who paused them, and why.",
        queries: [{ expr: `sum(${maxBy("namespace", "braid_splits_paused")})`, legend: "paused" }],
        thresholds: [{ from: 1, color: "yellow" }],
        alerts: ["BraidSplitsPaused"],
      }),
      figure("Failed requests", {
        unit: "percentunit",
        description:
          "Share of requests that failed by the server's fault or storage's: all codes of the panel below.",
        queries: [
          {
            expr: `sum(rate(${series("braid_requests_total", FAILED)}[$__rate_interval])) / (sum(rate(${series("braid_requests_total")}[$__rate_interval])) > 0)`,
            legend: "failed",
          },
        ],
        thresholds: [
          { from: 0.001, color: "yellow" },
          { from: 0.01, color: "red" },
        ],
        alerts: ["BraidStorageUnavailable", "BraidInternalErrors", "BraidDataLoss"],
      }),
      table("Alerts that fire", {
        unit: "none",
        description: "Each has a runbook: the link at the top opens all of them.",
        queries: [
          {
            expr: 'ALERTS{alertname=~"Braid.+",alertstate="firing",job=~"$job|"}',
            legend: "",
          },
        ],
        columns: {
          alertname: "alert",
          severity: "severity",
          namespace: "namespace",
          instance: "instance",
        },
        height: 6,
      }),
    ],
  },
  {
    title: "Requests",
    panels: [
      chart("Requests by method", {
        unit: "reqps",
        description: "Requests that were answered, whatever the answer.",
        queries: [{ expr: rateBy("method", "braid_requests_total"), legend: "{{method}}" }],
      }),
      chart("Failed requests by code", {
        unit: "reqps",
        description: "The server's or storage's fault. The log has a line with the request id.",
        queries: [{ expr: rateBy("code", "braid_requests_total", FAILED), legend: "{{code}}" }],
        alerts: ["BraidStorageUnavailable", "BraidInternalErrors", "BraidDataLoss"],
      }),
      chart("Requests refused as overload", {
        unit: "reqps",
        description: "Answered with OVERLOADED. See which limit is near below.",
        queries: [
          { expr: rateBy("namespace", "braid_requests_total", REFUSED), legend: "{{namespace}}" },
        ],
        alerts: ["BraidOverloaded"],
      }),
      chart("Time of a request, median", {
        unit: "s",
        description:
          "From a request's arrival to the end of its answer; of a stream, to its last page.",
        queries: [
          { expr: quantileBy(0.5, "method", "braid_request_seconds"), legend: "{{method}}" },
        ],
      }),
      chart("Time of a request, 99th percentile", {
        unit: "s",
        description:
          "From a request's arrival to the end of its answer; of a stream, to its last page.",
        queries: [
          { expr: quantileBy(0.99, "method", "braid_request_seconds"), legend: "{{method}}" },
        ],
      }),
      chart("Time of a refusal, 99th percentile", {
        unit: "s",
        description:
          "Refusals should leave within 10 ms: if not, the process has more to do than one core gives.",
        queries: [{ expr: quantileBy(0.99, "", "braid_refusal_seconds"), legend: "refusals" }],
        thresholds: [{ from: 0.01, color: "orange" }],
      }),
    ],
  },
  {
    title: "Writing",
    panels: [
      chart("Events written", {
        unit: "cps",
        description: "Events made durable, directly or from the write queue.",
        queries: [
          { expr: rateBy("namespace", "braid_written_events_total"), legend: "{{namespace}}" },
        ],
      }),
      chart("Events refused by code", {
        unit: "cps",
        description: "Events of write requests that were not acknowledged.",
        queries: [
          {
            expr: rateBy("namespace, code", "braid_refused_events_total"),
            legend: "{{namespace}} {{code}}",
          },
        ],
        alerts: ["BraidEventsRefused"],
      }),
      chart("Events lost from the write queue", {
        unit: "short",
        description:
          "Acknowledged by WriteEventRecords and then not written. One is too many: the log has a line for each drop.",
        queries: [
          {
            expr: riseBy("namespace, code", "braid_write_queue_dropped_events_total"),
            legend: "{{namespace}} {{code}}",
          },
        ],
        thresholds: [{ from: 1, color: "red" }],
        alerts: ["BraidEventsLost"],
      }),
    ],
  },
  {
    title: "Reading",
    panels: [
      chart("Events read", {
        unit: "cps",
        description: "Events returned to callers.",
        queries: [
          { expr: rateBy("namespace", "braid_read_events_total"), legend: "{{namespace}}" },
        ],
      }),
      chart("Time of a page by route, 99th percentile", {
        unit: "s",
        description:
          "split: a partition was read from a split. wide_original: an original that is wide. The gain from splitting is the one against the other.",
        queries: [{ expr: quantileBy(0.99, "route", "braid_read_seconds"), legend: "{{route}}" }],
      }),
      chart("Time of a page against its target, 99th percentile", {
        unit: "percentunit",
        description: "1: the 99th percentile is at slos.read.target of the namespace.",
        queries: [
          {
            expr: `${quantileBy(0.99, "namespace", "braid_read_seconds")} / on (namespace) ${maxBy("namespace", "braid_read_slo_seconds", 'bound="target"')}`,
            legend: "{{namespace}}",
          },
        ],
        thresholds: [{ from: 1, color: "red" }],
        alerts: ["BraidReadsSlow"],
      }),
      chart("Pages that ended early", {
        unit: "cps",
        description: "slos.read.max was over and the caller had set allowPartial.",
        queries: [
          { expr: rateBy("namespace", "braid_partial_returns_total"), legend: "{{namespace}}" },
        ],
        alerts: ["BraidReadsSlow"],
      }),
      chart("Reads that ran out of time", {
        unit: "reqps",
        description: "Reads answered with DEADLINE_EXCEEDED.",
        queries: [
          {
            expr: rateBy(
              "namespace",
              "braid_requests_total",
              READ_METHODS,
              'code="DEADLINE_EXCEEDED"',
            ),
            legend: "{{namespace}}",
          },
        ],
      }),
      chart("Time buckets that a read may read at once", {
        unit: "short",
        description:
          "Each server learns it for each namespace; the largest is shown. At most server.read_fan_out.",
        queries: [{ expr: maxBy("namespace", "braid_read_fan_out"), legend: "{{namespace}}" }],
      }),
      chart("Bytes read ahead and thrown away", {
        unit: "Bps",
        description:
          "left: the caller had enough. recalled: other reads needed the memory; raise server.read_memory.",
        queries: [
          {
            expr: rateBy("outcome", "braid_read_ahead_bytes_total", 'outcome!="used"'),
            legend: "{{outcome}}",
          },
        ],
      }),
    ],
  },
  {
    title: "Limits",
    panels: [
      chart("Share of each limit in use", {
        unit: "percentunit",
        max: 1,
        description:
          "At 1 Braid refuses further requests with OVERLOADED, closes connections, or lets reads wait. The largest over the servers.",
        queries: Object.entries(LIMITED).map(([name, setting]) => ({
          expr: `max(${shareOfLimit(name, setting)})`,
          legend: setting,
        })),
        thresholds: [{ from: 0.9, color: "red" }],
        width: 16,
        alerts: ["BraidNearLimit"],
      }),
      chart("Bytes in the write queue", {
        unit: "bytes",
        description:
          "Acknowledged by WriteEventRecords and not written yet: lost if the process dies.",
        queries: [{ expr: sumBy("instance", "braid_write_queue_bytes"), legend: "{{instance}}" }],
      }),
    ],
  },
];
