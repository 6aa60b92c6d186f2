/**
 * Stores blocks of one part of a split, a row each: they are large, so that batches of them would gain
 * nothing.
 */
import type { PartitionKey } from "../../model/partition.ts";
import type { StoredBlock } from "../../ports/event-store.ts";
import { asBuffer, int32, int64 } from "./cql-values.ts";
import { insertStatement, sendInserts } from "./send-inserts.ts";
import type { BoundPartition, InsertMeans, InsertTarget } from "./send-inserts.ts";

/** Rejects as the port says. */
export function appendBlocks(
  means: InsertMeans,
  target: InsertTarget,
  part: PartitionKey,
  blocks: readonly StoredBlock[],
): Promise<void> {
  const partition: BoundPartition = [
    Buffer.from(part.seriesId),
    int32(part.timeBucket),
    int32(part.eventBucket),
  ];
  const query = insertStatement(target.table, 1);
  return sendInserts(
    means,
    target,
    blocks.map(({ key, bytes }) => () => ({
      query,
      params: [...partition, int64(key.time), asBuffer(key.id), asBuffer(bytes)],
      partition,
    })),
  );
}
