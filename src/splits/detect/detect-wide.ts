/**
 * Decides whether one finished read of a partition was wide enough to report, and if not, why.
 *
 * Runs for every partition of every read: the narrow path costs two comparisons and no allocation.
 */
import { sliceExpiry } from "../../model/slice-expiry.ts";
import type { Detection } from "../../model/detection.ts";
import { blockOf } from "../../model/namespace.ts";
import type { NamespaceView } from "../../model/namespace.ts";
import { timeBucketRange } from "../../model/partition.ts";
import type { PartitionRead } from "../../partition/partition-read.ts";

/** The fields that decide whether a partition is wide. */
export type ReadWidth = Pick<PartitionRead, "partition" | "bytes" | "events">;

/** Why a read is not reported. "gone" means that the slice is no longer open. */
export type NotDetected = "narrow" | "off" | "gone" | "expiring" | "blocked";

export function detectWide(
  read: ReadWidth,
  view: NamespaceView,
  nowMicros: number,
): Detection | NotDetected {
  const { widePartition, retention } = view.namespace.config;
  if (read.bytes <= widePartition.bytesMax && read.events <= widePartition.eventsMax) {
    return "narrow";
  }
  if (!widePartition.detect) return "off";
  const { slice: sliceName, seriesId, timeBucket, eventBucket } = read.partition;
  const slice = view.slices.find(({ name }) => name === sliceName);
  if (slice === undefined) return "gone";
  if (sliceExpiry(slice, retention, nowMicros).soon) return "expiring";
  if (blockOf(view, seriesId, nowMicros) !== undefined) return "blocked";
  return {
    namespace: view.namespace.name,
    timeSlice: sliceName,
    timeSeriesId: seriesId,
    timeBucket,
    eventBucket,
    immutable: timeBucketRange(slice, timeBucket).end <= view.namespace.floor,
    epoch: view.namespace.epoch,
    bytes: read.bytes,
    events: read.events,
    detectedAt: nowMicros,
  };
}
