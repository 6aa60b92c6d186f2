/**
 * Reports what a read has taken from each partition of a bucket: to `explain`, and to the listener
 * that watches for wide partitions.
 */
import type { NamespaceView } from "../model/namespace.ts";
import { timeBucketRange } from "../model/partition.ts";
import type { PartitionRead } from "../partition/partition-read.ts";
import type { BucketReader } from "./bucket-reader.ts";
import type { BucketRange } from "./buckets-of.ts";
import type { ExplainedPartition } from "./read-page.ts";
import type { ReadQuery } from "./read-query.ts";
import { readsSplit } from "./width-shares.ts";
import type { Width } from "./width-shares.ts";

export interface ReportContext {
  readonly view: NamespaceView;
  readonly query: Pick<ReadQuery, "start" | "end">;
  readonly onPartitionRead: ((read: PartitionRead) => void) | undefined;
}

export interface ReportedBucket extends Pick<BucketReader, "sources"> {
  readonly bucket: BucketRange;
  /** ENDED: the read has reached the end of the bucket. */
  readonly progress: "UNDER_WAY" | "ENDED";
  /** The width of each source, in their order. */
  readonly widths: readonly Width[];
}

const NOTHING: Width = { bytes: 0, events: 0 };

/**
 * Adds a row for each partition. Returns whether an original was read that turned out to be wide.
 */
export function reportPartitions(
  { view, query, onPartitionRead }: ReportContext,
  { bucket, sources, progress, widths }: ReportedBucket,
  rows: ExplainedPartition[],
): boolean {
  const { start, end } = timeBucketRange(bucket.slice, bucket.timeBucket);
  const isWhole = progress === "ENDED" && query.start <= start && query.end >= end;
  const { bytesMax, eventsMax } = view.namespace.config.widePartition;
  let wide = false;
  for (const [nth, source] of sources.entries()) {
    const width = widths[nth] ?? NOTHING;
    const { partition, bytes, events, millis, route } = source;
    // The part that a split covers was wide, and still is for a reader that reads it from the
    // original.
    const covered = source.originalBytes < bytes && !readsSplit(route.route);
    if (covered || width.bytes > bytesMax || width.events > eventsMax) wide = true;
    const { timeBucket, eventBucket } = partition;
    const place = { timeSlice: partition.slice, timeBucket, eventBucket };
    rows.push({ ...place, ...route, bytes, events, millis, read: true });
    onPartitionRead?.({
      view,
      partition,
      route: route.route,
      ...width,
      whole: isWhole && source.originalBytes === bytes,
    });
  }
  return wide;
}
