/** The storage: the embedded engine's disk, or Cassandra as Braid and the nodes themselves see it. */
import { chart, states } from "./panel.ts";
import type { Row } from "./panel.ts";
import { maxBy, maxRateBy, quantileBy, rateBy, series, shareOfLimit } from "./promql.ts";

export const ENGINE: readonly Row[] = [
  {
    title: "Embedded engine",
    panels: [
      chart("Time of a commit", {
        unit: "s",
        description: "fsync included. Every write waits for one.",
        queries: [
          {
            expr: quantileBy(0.5, "instance", "braid_engine_commit_seconds"),
            legend: "{{instance}} median",
          },
          {
            expr: quantileBy(0.99, "instance", "braid_engine_commit_seconds"),
            legend: "{{instance}} 99th percentile",
          },
        ],
        alerts: ["BraidCommitsSlow"],
      }),
      chart("Writes that share a commit", {
        unit: "short",
        description: "Appends for each fsync.",
        queries: [
          {
            expr: `${rateBy("instance", "braid_engine_appends_total")} / ${rateBy("instance", "braid_engine_commit_seconds_count")}`,
            legend: "{{instance}}",
          },
        ],
      }),
      chart("Bytes committed", {
        unit: "Bps",
        description: "Bytes of events.",
        queries: [
          {
            expr: rateBy("instance", "braid_engine_committed_bytes_total"),
            legend: "{{instance}}",
          },
        ],
      }),
      chart("Free space", {
        unit: "bytes",
        description:
          "Of the data directory's disk. Below server.free_space_min Braid refuses events.",
        queries: [
          { expr: maxBy("instance", "braid_disk_free_bytes"), legend: "{{instance}} free" },
          {
            expr: `${maxBy("instance", "braid_limit", 'setting="server.free_space_min"')} and on (instance) ${series("braid_disk_free_bytes")}`,
            legend: "{{instance}} minimum",
          },
        ],
        alerts: ["BraidDiskLow", "BraidDiskFillsUp", "BraidDiskReadOnly"],
      }),
      states("Takes events", {
        unit: "none",
        description: "Read-only: too little free space. Reads and deletions continue.",
        queries: [{ expr: maxBy("instance", "braid_disk_read_only"), legend: "{{instance}}" }],
        thresholds: [{ from: 1, color: "red" }],
        words: { "0": ["yes", "green"], "1": ["read-only", "red"] },
        width: 8,
        alerts: ["BraidDiskReadOnly"],
      }),
      chart("Open slices, share of server.open_slices", {
        unit: "percentunit",
        max: 1,
        description:
          "At 1 for long, slices in use are closed and opened again, with several fsyncs each.",
        queries: [
          {
            expr: shareOfLimit("braid_engine_open_slices", "server.open_slices"),
            legend: "{{instance}}",
          },
        ],
      }),
      chart("Bytes verified in the background", {
        unit: "Bps",
        description: "Each table is read again once a day, at 4 MiB per second at most.",
        queries: [
          { expr: rateBy("instance", "braid_engine_verified_bytes_total"), legend: "{{instance}}" },
        ],
      }),
      chart("Damaged tables", {
        unit: "short",
        description:
          "Found since the process started. The disk has lost bytes: the log names the slice.",
        queries: [
          { expr: maxBy("instance", "braid_engine_damaged_tables_total"), legend: "{{instance}}" },
        ],
        thresholds: [{ from: 1, color: "red" }],
        alerts: ["BraidTablesDamaged", "BraidDataLoss"],
      }),
    ],
  },
  {
    title: "Cassandra, as Braid sees it",
    panels: [
      chart("Statements by kind", {
        unit: "ops",
        description: "All processes together.",
        queries: [
          { expr: rateBy("kind", "braid_engine_statement_seconds_count"), legend: "{{kind}}" },
        ],
      }),
      chart("Time of a statement, 99th percentile", {
        unit: "s",
        description:
          "catalog_read near view_max_age means that views expire and requests are refused.",
        queries: [
          {
            expr: quantileBy(0.99, "kind", "braid_engine_statement_seconds", 'outcome="ok"'),
            legend: "{{kind}}",
          },
        ],
      }),
      chart("Statements that fail", {
        unit: "ops",
        description: "The driver's retries are included.",
        queries: [
          {
            expr: rateBy("kind", "braid_engine_statement_seconds_count", 'outcome="failed"'),
            legend: "{{kind}}",
          },
        ],
        alerts: ["BraidStatementsFail"],
      }),
      chart("Nodes that are up", {
        unit: "short",
        description: "Of the process's data centre, and how many it knows.",
        queries: [
          { expr: maxBy("instance", "braid_engine_nodes_up"), legend: "{{instance}} up" },
          { expr: maxBy("instance", "braid_engine_nodes"), legend: "{{instance}} known" },
        ],
        alerts: ["BraidCassandraNodesDown"],
      }),
    ],
  },
  {
    title: "Cassandra's nodes, as their Jolokia agents see them",
    panels: [
      chart("Reads that wait for a thread", {
        unit: "short",
        description:
          "Above concurrent_reads (32) for long, the node has more reads than it can do.",
        queries: [{ expr: maxBy("node", "braid_cassandra_pending_reads"), legend: "{{node}}" }],
        thresholds: [{ from: 32, color: "red" }],
        alerts: ["BraidCassandraReadsQueue"],
      }),
      chart("Time in garbage collection of nodes", {
        unit: "percentunit",
        description: "Share of the time in which collections stop or slow the node.",
        queries: [
          { expr: maxRateBy("node", "braid_cassandra_gc_seconds_total"), legend: "{{node}}" },
        ],
        thresholds: [{ from: 0.1, color: "red" }],
        alerts: ["BraidCassandraGc"],
      }),
      chart("Processors of nodes", {
        unit: "percentunit",
        max: 1,
        description: "Share of the machine's processors that the node uses.",
        queries: [{ expr: maxBy("node", "braid_cassandra_cpu_ratio"), legend: "{{node}}" }],
        thresholds: [{ from: 0.9, color: "red" }],
        alerts: ["BraidCassandraBusy"],
      }),
      chart("Reads that time out", {
        unit: "ops",
        description:
          "Reads of all clients that the node coordinated and its replicas did not answer in time.",
        queries: [
          { expr: maxRateBy("node", "braid_cassandra_read_timeouts_total"), legend: "{{node}}" },
        ],
        alerts: ["BraidCassandraReadsQueue"],
      }),
    ],
  },
];
