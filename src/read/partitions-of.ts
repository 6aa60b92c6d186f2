/** The partitions of one time bucket of a time series. */
import type { NamespaceView } from "../model/namespace.ts";
import { eventBucketsOf } from "../model/partition.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { BucketRange } from "./buckets-of.ts";

export function partitionsOf(
  seriesId: string,
  view: NamespaceView,
  bucket: BucketRange,
): PartitionKey[] {
  const { slice, timeBucket } = bucket;
  const eventBuckets = eventBucketsOf(slice, timeBucket, view.idStrategies.get(seriesId));
  return Array.from({ length: eventBuckets }, (_, eventBucket) => ({
    namespaceId: view.namespace.id,
    slice: slice.name,
    seriesId,
    timeBucket,
    eventBucket,
  }));
}
