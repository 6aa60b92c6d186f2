/** How wide partitions are, and how splitting them proceeds. */
import { chart, figure, heatmap } from "./panel.ts";
import type { Row } from "./panel.ts";
import { bucketsOf, maxBy, quantileBy, rateBy, riseBy, series, shareOfLimit } from "./promql.ts";

/** One process reports them; while the task moves to another, two may for a moment. */
function splitsIn(states: string): string {
  return maxBy("namespace, state", "braid_splits", `state=~"${states}"`);
}

export const SPLITS: readonly Row[] = [
  {
    title: "Wide partitions",
    panels: [
      figure("Partition reads over 10 MB", {
        unit: "percentunit",
        description:
          "Share of reads of one original partition that examined more than ten megabytes. Which remedy when: docs/operate/which-remedy.md.",
        queries: [
          {
            expr: `1 - sum(rate(${series("braid_partition_read_bytes_bucket", 'le="10000000"')}[$__rate_interval])) / (sum(rate(${series("braid_partition_read_bytes_count")}[$__rate_interval])) > 0)`,
            legend: "over 10 MB",
          },
        ],
        thresholds: [
          { from: 0.001, color: "yellow" },
          { from: 0.05, color: "orange" },
        ],
        width: 4,
        height: 8,
      }),
      heatmap("Bytes that one read examines of one original partition", {
        unit: "bytes",
        description:
          "Earlier pages of the read are included; what a split covers is not. Reads above ten megabytes are of ids that are too wide for their time bucket.",
        queries: [{ expr: bucketsOf("braid_partition_read_bytes"), legend: "{{le}}" }],
      }),
      chart("Reads that found a partition wide", {
        unit: "cps",
        description: "By what became of the detection. dropped: the queue's buffer is full.",
        queries: [{ expr: rateBy("outcome", "braid_detections_total"), legend: "{{outcome}}" }],
        alerts: ["BraidDetectionsDropped", "BraidNoWorker"],
      }),
      chart("Time of a page: wide originals against splits, median", {
        unit: "s",
        description: "What splitting gains.",
        queries: [
          {
            expr: quantileBy(0.5, "route", "braid_read_seconds", 'route=~"wide_original|split"'),
            legend: "{{route}}",
          },
        ],
        width: 12,
      }),
      chart("Time of a page: wide originals against splits, 99th percentile", {
        unit: "s",
        description: "What splitting gains.",
        queries: [
          {
            expr: quantileBy(0.99, "route", "braid_read_seconds", 'route=~"wide_original|split"'),
            legend: "{{route}}",
          },
        ],
        width: 12,
      }),
    ],
  },
  {
    title: "Splits",
    panels: [
      chart("Splits by state", {
        unit: "short",
        description:
          "Counted once a minute. FAILED waits for braid splits retry; braid splits ls shows why one is PARKED.",
        queries: [{ expr: `sum by (state) (${splitsIn(".+")})`, legend: "{{state}}" }],
        stacked: true,
        alerts: ["BraidSplitsFailed", "BraidSplitsStuck"],
      }),
      chart("Splits in flight", {
        unit: "short",
        description: "Found and not finished yet.",
        queries: [
          {
            expr: `sum by (namespace) (${splitsIn("DETECTED|PLANNING|PLANNED|SPLITTING|VALIDATING")})`,
            legend: "{{namespace}}",
          },
        ],
        alerts: ["BraidSplitsStuck", "BraidSplitsPaused"],
      }),
      chart("Failed splits", {
        unit: "short",
        description:
          "Copy and original differed three times, or the copy could not be read. Reads use originals.",
        queries: [{ expr: `sum by (namespace) (${splitsIn("FAILED")})`, legend: "{{namespace}}" }],
        thresholds: [{ from: 1, color: "red" }],
        alerts: ["BraidSplitsFailed"],
      }),
      chart("Moves of splits", {
        unit: "short",
        description:
          "Splits that entered a state in the time of one point. COMPLETED is the speed of splitting.",
        queries: [{ expr: riseBy("state", "braid_split_moves_total"), legend: "{{state}}" }],
      }),
      chart("Bytes through each stage", {
        unit: "Bps",
        description:
          "read from the original, written into parts, validated (read back), confirmed (a second read of the original agrees). If read rises and confirmed does not, copies start over.",
        queries: [{ expr: rateBy("stage", "braid_split_bytes_total"), legend: "{{stage}}" }],
      }),
      chart("Workers' places in use", {
        unit: "percentunit",
        max: 1,
        description:
          "Of splits.concurrency. At 1 for long while splits in flight grow: add workers, or raise the setting.",
        queries: [
          {
            expr: shareOfLimit("braid_splits_active", "splits.concurrency"),
            legend: "{{instance}}",
          },
        ],
      }),
      heatmap("Sizes of partitions before they were split", {
        unit: "bytes",
        description: "All that were split in the time of one column.",
        queries: [
          { expr: bucketsOf("braid_split_partition_bytes", 'when="before"'), legend: "{{le}}" },
        ],
      }),
      heatmap("Sizes of parts after splitting", {
        unit: "bytes",
        description: "They should be at or below the namespace's targetBytes.",
        queries: [
          { expr: bucketsOf("braid_split_partition_bytes", 'when="after"'), legend: "{{le}}" },
        ],
      }),
      chart("Space of splits", {
        unit: "bytes",
        description: "On top of the originals; goes away with their slices.",
        queries: [
          { expr: maxBy("namespace", "braid_split_storage_bytes"), legend: "{{namespace}}" },
        ],
      }),
      chart("Namespaces with paused splits", {
        unit: "short",
        description: "1 while an operator has paused them. braid splits resume continues.",
        queries: [{ expr: maxBy("namespace", "braid_splits_paused"), legend: "{{namespace}}" }],
        alerts: ["BraidSplitsPaused"],
      }),
      chart("Entries that cannot be decoded", {
        unit: "short",
        description:
          "Damaged, or written by a newer version. The process skips them; the log names each.",
        queries: [
          { expr: maxBy("instance", "braid_split_work_unreadable_total"), legend: "{{instance}}" },
        ],
        thresholds: [{ from: 1, color: "red" }],
        alerts: ["BraidSplitEntriesUnreadable"],
      }),
    ],
  },
  {
    title: "Queue of detections",
    panels: [
      chart("Detections that wait", {
        unit: "short",
        description:
          "In each process's share of the queue. If it grows at every worker, the catalog is slow or more workers are needed.",
        queries: [{ expr: maxBy("instance", "braid_queue_lag"), legend: "{{instance}}" }],
        alerts: ["BraidQueueLag"],
      }),
      chart("Detections handled", {
        unit: "cps",
        description:
          "recorded: a new split. known: there was one already. The others have no effect.",
        queries: [
          { expr: rateBy("outcome", "braid_detections_handled_total"), legend: "{{outcome}}" },
        ],
        alerts: ["BraidNoWorker"],
      }),
      chart("Detections dropped, repeated, or no detections", {
        unit: "short",
        description:
          "dead letters: messages that are not detections. retries: handling failed and is repeated. The others: the queue did not take the detection; a later read finds it again.",
        queries: [
          { expr: riseBy("reason", "braid_queue_dropped_total"), legend: "dropped: {{reason}}" },
          {
            expr: `sum(increase(${series("braid_queue_dead_letters_total")}[$__rate_interval]))`,
            legend: "dead letters",
          },
          {
            expr: `sum(increase(${series("braid_queue_retries_total")}[$__rate_interval]))`,
            legend: "retries",
          },
        ],
        alerts: ["BraidDetectionsDropped", "BraidDeadLetters"],
      }),
    ],
  },
  {
    title: "Measuring and tuning",
    panels: [
      chart("Partitions walked", {
        unit: "cps",
        description: "Walks over slices measure partitions; at most walk.partitions_per_second.",
        queries: [
          { expr: rateBy("namespace", "braid_walked_partitions_total"), legend: "{{namespace}}" },
        ],
      }),
      chart("Oldest slice that waits for its walk", {
        unit: "s",
        description: "If it grows, walks are slower than slices are sealed.",
        queries: [{ expr: maxBy("namespace", "braid_walk_lag_seconds"), legend: "{{namespace}}" }],
        alerts: ["BraidWalksBehind"],
      }),
      chart("Tunings of future slices", {
        unit: "short",
        description:
          "PROPOSED without APPLIED or REFUSED: a proposal waits, see braid tune ls. TAKEN_BACK: a change made partitions worse.",
        queries: [
          {
            expr: riseBy("namespace, outcome", "braid_tunings_total"),
            legend: "{{namespace}} {{outcome}}",
          },
        ],
        alerts: ["BraidTuningTakenBack"],
      }),
    ],
  },
];
