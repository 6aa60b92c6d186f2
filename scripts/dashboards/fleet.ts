/** The processes: versions, load of each, and how old their copies of shared state are. */
import { chart, figure, states, table } from "./panel.ts";
import type { Row } from "./panel.ts";
import { maxBy, quantileBy, rateBy, riseBy, series, shareOfLimit } from "./promql.ts";

export const FLEET: readonly Row[] = [
  {
    title: "Processes",
    panels: [
      figure("Servers", {
        unit: "short",
        description: "Processes that serve callers.",
        queries: [{ expr: `count(${series("braid_kill_switch")})`, legend: "servers" }],
        alerts: ["BraidTargetDown"],
      }),
      figure("Processes that split", {
        unit: "short",
        description: "Workers, and servers on the embedded queue.",
        queries: [{ expr: `count(${series("braid_splits_active")})`, legend: "workers" }],
        alerts: ["BraidNoWorker"],
      }),
      figure("Versions", {
        unit: "short",
        description: "More than one is normal during a rolling restart only.",
        queries: [
          {
            expr: `count(count by (version, build) (${series("braid_build_info")}))`,
            legend: "versions",
          },
        ],
        thresholds: [{ from: 2, color: "yellow" }],
        alerts: ["BraidVersionsDiffer"],
      }),
      states("Reached by Prometheus", {
        unit: "none",
        description: "Whether the last scrape of each process succeeded.",
        queries: [{ expr: maxBy("instance", "up"), legend: "{{instance}}" }],
        words: { "0": ["down", "red"], "1": ["up", "green"] },
        alerts: ["BraidTargetDown"],
        height: 8,
      }),
      table("What runs", {
        unit: "none",
        description: "One line for each process.",
        queries: [{ expr: series("braid_build_info"), legend: "" }],
        columns: {
          instance: "instance",
          version: "version",
          build: "build",
          node: "Node",
          engine: "engine",
          queue: "queue",
        },
      }),
      chart("Running since", {
        unit: "s",
        description: "A drop is a restart.",
        queries: [
          {
            expr: `time() - max by (instance) (${series("process_start_time_seconds")})`,
            legend: "{{instance}}",
          },
        ],
        alerts: ["BraidRestarts"],
      }),
      chart("Requests of each server", {
        unit: "reqps",
        description: "A server with much less than the others is out of the load balancer, or new.",
        queries: [{ expr: rateBy("instance", "braid_requests_total"), legend: "{{instance}}" }],
      }),
      chart("Time of a request at each server, 99th percentile", {
        unit: "s",
        description:
          "All methods together. One server that is slower than the others has too much to do, or a slow disk.",
        queries: [
          { expr: quantileBy(0.99, "instance", "braid_request_seconds"), legend: "{{instance}}" },
        ],
      }),
    ],
  },
  {
    title: "Load",
    panels: [
      chart("Event loop delay, 99th percentile", {
        unit: "s",
        description:
          "Above 0.1 the process has more work than one core can do: start another server.",
        queries: [
          { expr: maxBy("instance", "nodejs_eventloop_lag_p99_seconds"), legend: "{{instance}}" },
        ],
        thresholds: [{ from: 0.1, color: "red" }],
        alerts: ["BraidEventLoopBusy"],
      }),
      chart("Processor time", {
        unit: "percentunit",
        description: "1 is one core.",
        queries: [
          { expr: rateBy("instance", "process_cpu_seconds_total"), legend: "{{instance}}" },
        ],
        alerts: ["BraidEventLoopBusy"],
      }),
      chart("Memory", {
        unit: "bytes",
        description: "Resident; and the heap of JavaScript in it.",
        queries: [
          {
            expr: maxBy("instance", "process_resident_memory_bytes"),
            legend: "{{instance}} resident",
          },
          { expr: maxBy("instance", "nodejs_heap_size_used_bytes"), legend: "{{instance}} heap" },
        ],
      }),
      chart("Time in garbage collection", {
        unit: "percentunit",
        description: "Share of one core.",
        queries: [
          { expr: rateBy("instance", "nodejs_gc_duration_seconds_sum"), legend: "{{instance}}" },
        ],
      }),
      chart("Open connections, share of server.connections", {
        unit: "percentunit",
        max: 1,
        description: "At 1 further connections are closed at once.",
        queries: [
          { expr: shareOfLimit("braid_connections", "server.connections"), legend: "{{instance}}" },
        ],
        alerts: ["BraidNearLimit"],
      }),
      chart("Open files, share of the process's limit", {
        unit: "percentunit",
        max: 1,
        description: "Each connection is one, each open slice about five.",
        queries: [
          {
            expr: `max by (instance) (${series("process_open_fds")} / ${series("process_max_fds")})`,
            legend: "{{instance}}",
          },
        ],
        thresholds: [{ from: 0.8, color: "red" }],
        alerts: ["BraidFilesNearLimit"],
      }),
    ],
  },
  {
    title: "Shared state and time",
    panels: [
      chart("Age of the oldest view, share of view_max_age", {
        unit: "percentunit",
        description:
          "Normally about a third. At 1 the process refuses requests until the catalog answers.",
        queries: [
          { expr: shareOfLimit("braid_view_age_seconds", "view_max_age"), legend: "{{instance}}" },
        ],
        thresholds: [{ from: 0.8, color: "red" }],
        alerts: ["BraidViewsOld"],
      }),
      states("Clock", {
        unit: "none",
        description:
          "In doubt: no slice is closed or dropped. docs/operate/time.md says when doubt begins and ends.",
        queries: [{ expr: maxBy("instance", "braid_clock_doubt"), legend: "{{instance}}" }],
        thresholds: [{ from: 1, color: "orange" }],
        words: { "0": ["believed", "green"], "1": ["in doubt", "orange"] },
        width: 8,
        alerts: ["BraidClockInDoubt"],
      }),
      chart("Leap of a clock in doubt", {
        unit: "s",
        description:
          "How far the clock is ahead of believed time; negative if it is behind, 0 without doubt.",
        queries: [{ expr: maxBy("instance", "braid_clock_leap_seconds"), legend: "{{instance}}" }],
        signed: true,
        alerts: ["BraidClockInDoubt"],
      }),
      chart("Failures to create, close or drop slices", {
        unit: "short",
        description: "In the time of one point. The log names the namespace.",
        queries: [
          { expr: riseBy("instance", "braid_slice_failures_total"), legend: "{{instance}}" },
        ],
        alerts: ["BraidSlicesFail"],
      }),
    ],
  },
];
