/**
 * Stores blocks of one part of a split, a row each, several in a batch: all belong to one
 * partition, so a batch is a single mutation. A statement costs client and node as much as copying
 * a block.
 */
import type { PartitionKey } from "../../model/partition.ts";
import type { StoredBlock } from "../../ports/event-store.ts";
import { asBuffer, int32, int64 } from "./cql-values.ts";
import { sendInserts } from "./send-inserts.ts";
import type { BoundPartition, Insert, InsertMeans, InsertTarget } from "./send-inserts.ts";

/**
 * As for events: beyond this a batch gains little, and a slow one delays more. There is one
 * statement for each number.
 */
const BATCH_BLOCKS_MAX = 8;
const BATCH_BYTES_MAX = 64 << 10;

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
  const batches = cutIntoBatches(blocks);
  return sendInserts(
    means,
    target,
    batches.map((batch) => () => insertOf(partition, batch)),
  );
}

function cutIntoBatches(blocks: readonly StoredBlock[]): StoredBlock[][] {
  const batches: StoredBlock[][] = [];
  let batch: StoredBlock[] = [];
  let bytes = 0;
  for (const block of blocks) {
    const { length } = block.bytes;
    const full = batch.length === BATCH_BLOCKS_MAX || bytes + length > BATCH_BYTES_MAX;
    if (batch.length === 0 || full) {
      batches.push((batch = []));
      bytes = 0;
    }
    batch.push(block);
    bytes += length;
  }
  return batches;
}

function insertOf(partition: BoundPartition, batch: readonly StoredBlock[]): Insert {
  const params: Buffer[] = [];
  for (const { key, bytes } of batch) {
    params.push(...partition, int64(key.time), asBuffer(key.id), asBuffer(bytes));
  }
  return { params, partition };
}
