/**
 * The metrics of the background work: detections handled, splits carried out. A worker has them,
 * and a server whose queue is its own. docs/operate/metrics.md explains each metric; a test keeps
 * that page complete.
 */
import { allOf, label, NAMESPACE } from "../lib/metrics.ts";
import type { Metrics } from "../lib/metrics.ts";
import { SPLIT_STATES } from "../model/split.ts";
import type { RecordOutcome } from "../splits/detect/record-detection.ts";
import type { CopyStage } from "../splits/work/split-context.ts";

const STATE = label("state", SPLIT_STATES);

/** From a part that is hardly worth its route to a partition that no read finishes in time. */
const PARTITION_BYTES = [1e4, 1e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8, 1e9];

export type WorkerMetrics = ReturnType<typeof declareWorkerMetrics>;

export function declareWorkerMetrics(metrics: Metrics) {
  const handled = metrics.counter(
    "braid_detections_handled_total",
    "Detections that were handled here, by outcome.",
    [
      NAMESPACE,
      label(
        "outcome",
        allOf<RecordOutcome>({
          recorded: 0,
          known: 0,
          again: 0,
          namespace_gone: 0,
          other_epoch: 0,
          slice_gone: 0,
          no_such_partition: 0,
          blocked: 0,
        }),
      ),
    ],
  );
  handled.add(0, "", "namespace_gone");
  return {
    handled,
    splits: metrics.gauges(
      "braid_splits",
      "Splits by state. One process reports them for the whole installation.",
      [NAMESPACE, STATE],
    ),
    splitStorage: metrics.gauges(
      "braid_split_storage_bytes",
      "Approximate space of all split tables. One process reports it for the whole installation.",
      [NAMESPACE],
    ),
    splitsActive: metrics.gauge("braid_splits_active", "Splits that this process works on."),
    unreadableEntries: metrics.counter(
      "braid_split_work_unreadable_total",
      "Entries of the work on splits that this process cannot decode and skips, each counted once.",
      [],
    ),
    splitMoves: metrics.counter("braid_split_moves_total", "Splits that entered a state.", [
      NAMESPACE,
      STATE,
    ]),
    splitBytes: metrics.counter(
      "braid_split_bytes_total",
      "Bytes of events that went through splitting, by stage.",
      [
        NAMESPACE,
        label("stage", allOf<CopyStage>({ read: 0, written: 0, validated: 0, confirmed: 0 })),
      ],
    ),
    walkedPartitions: metrics.counter(
      "braid_walked_partitions_total",
      "Partitions that walks over slices have passed.",
      [NAMESPACE],
    ),
    walkLag: metrics.gauges(
      "braid_walk_lag_seconds",
      "How long the oldest settled slice has waited for its walk. One process reports it.",
      [NAMESPACE],
    ),
    splitSizes: metrics.histogram(
      "braid_split_partition_bytes",
      "Sizes of partitions before a split, with all their segments, and of their parts after it.",
      [NAMESPACE, label("when", ["before", "after"])],
      { buckets: PARTITION_BYTES },
    ),
  };
}
