/** A partition as the key of a map. */
import type { PartitionKey } from "../../model/partition.ts";

export function partitionText(partition: PartitionKey): string {
  const { namespaceId, slice, seriesId, timeBucket, eventBucket } = partition;
  // An id may have any characters, so it comes last.
  return `${namespaceId}|${slice}|${timeBucket}|${eventBucket}|${seriesId}`;
}
