/**
 * The hash by which a slice's filter identifies a partition. Every read computes it, so it
 * allocates no object.
 *
 * It is never stored, so it may change from one version to the next.
 */
import { hash32 } from "../../lib/hash.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { CONTRACT_EVENT_LIMITS } from "../../wire/event-limits.ts";

const LOW_SEED = 1;
const HIGH_SEED = 2;
const BUCKET_BYTES = 8;

const encoder = new TextEncoder();
const scratch = new Uint8Array(BUCKET_BYTES + CONTRACT_EVENT_LIMITS.seriesIdBytesMax);
const numbers = new DataView(scratch.buffer);
const text = scratch.subarray(BUCKET_BYTES);

/** The two halves; valid until the next call. */
export const partitionHash = { low: 0, high: 0 };

/** Fills `partitionHash` with the hash of (series id, time bucket, event bucket). */
export function hashPartition({ seriesId, timeBucket, eventBucket }: PartitionKey): void {
  numbers.setUint32(0, timeBucket, true);
  numbers.setUint32(4, eventBucket, true);
  const { written } = encoder.encodeInto(seriesId, text);
  const bytes = scratch.subarray(0, BUCKET_BYTES + written);
  partitionHash.low = hash32(bytes, LOW_SEED);
  partitionHash.high = hash32(bytes, HIGH_SEED);
}
