/**
 * The records of splits as the catalog holds them: space `splits/<namespace id>/<slice>/<shard>`, key =
 * the partition.
 *
 * A slice's records are spread over shards by the hash of the series id (rule C19), so that no space
 * becomes what it is there to cure, and those of one id are together. Every change is compare-and-set.
 */
import { z } from "zod";
import { utf8 } from "../lib/bytes.ts";
import { hash32 } from "../lib/hash.ts";
import type { PartitionKey, SliceRef } from "../model/partition.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { decodeStored, listAll } from "./stored-json.ts";

/** Where records lie: neither the number nor the seed may change. */
const SHARDS = 16;
const SHARD_SEED = 0;

const SPLIT_STATES = [
  "DETECTED",
  "PLANNING",
  "PLANNED",
  "SPLITTING",
  "VALIDATING",
  "COMPLETED",
  "PARKED",
  "REFUSED",
  "FAILED",
  "INVALIDATED",
] as const;

export type SplitState = (typeof SPLIT_STATES)[number];

export interface SplitMove {
  /** Microseconds. */
  readonly at: number;
  /** Which process, or which person. */
  readonly by: string;
  /** Null: there was no record. */
  readonly from: SplitState | null;
  readonly to: SplitState;
  readonly reason: string;
}

export interface SplitRecord {
  readonly partition: PartitionKey;
  readonly state: SplitState;
  /** Of the namespace when the state was entered. */
  readonly epoch: number;
  /** What the detection saw, at least. */
  readonly bytes: number;
  readonly events: number;
  readonly immutable: boolean;
  readonly detectedAt: number;
  /** Oldest first. */
  readonly history: readonly SplitMove[];
  /** 0: not written yet. */
  readonly version: number;
}

export async function readSplit(
  catalog: Catalog,
  partition: PartitionKey,
): Promise<SplitRecord | undefined> {
  const space = splitSpace(partition, shardOf(partition.seriesId));
  const stored = await catalog.read(space, splitKey(partition));
  return stored === undefined ? undefined : decode(space, partition, stored);
}

/** Writes over the version it was read with (0: a new one). Undefined if it has changed meanwhile. */
export async function writeSplit(
  catalog: Catalog,
  record: SplitRecord,
): Promise<SplitRecord | undefined> {
  const { partition, version, ...stored } = record;
  const space = splitSpace(partition, shardOf(partition.seriesId));
  const value = JSON.stringify(stored);
  const written = await catalog.write(space, splitKey(partition), value, version);
  return written === undefined ? undefined : { ...record, version: written };
}

/** Every record of a slice, shard by shard, a bounded page at a time. */
export async function* listSplits(
  catalog: Catalog,
  slice: SliceRef,
): AsyncGenerator<SplitRecord, void, undefined> {
  for (let shard = 0; shard < SHARDS; shard++) {
    const space = splitSpace(slice, shard);
    for await (const stored of listAll(catalog, space)) {
      yield decode(space, { ...slice, ...partitionOf(stored.key) }, stored);
    }
  }
}

/** Once its slice is dropped for good. One that changes meanwhile stays, and is removed by a repeat. */
export async function removeSplits(catalog: Catalog, slice: SliceRef): Promise<void> {
  for (let shard = 0; shard < SHARDS; shard++) {
    const space = splitSpace(slice, shard);
    for await (const { key, version } of listAll(catalog, space)) {
      await catalog.remove(space, key, version);
    }
  }
}

function splitSpace({ namespaceId, slice }: SliceRef, shard: number): string {
  return `splits/${namespaceId}/${slice}/${shard}`;
}

function shardOf(seriesId: string): number {
  return hash32(utf8(seriesId), SHARD_SEED) % SHARDS;
}

/** An id may have any characters, numbers have no bar: the last two bars are ours. */
function splitKey({ seriesId, timeBucket, eventBucket }: PartitionKey): string {
  return `${seriesId}|${timeBucket}|${eventBucket}`;
}

function partitionOf(key: string): Pick<PartitionKey, "seriesId" | "timeBucket" | "eventBucket"> {
  const second = key.lastIndexOf("|");
  const first = key.lastIndexOf("|", second - 1);
  return {
    seriesId: key.slice(0, first),
    timeBucket: Number(key.slice(first + 1, second)),
    eventBucket: Number(key.slice(second + 1)),
  };
}

const count = z.number().int().nonnegative();
const state = z.enum(SPLIT_STATES);

const splitSchema: z.ZodType<Omit<SplitRecord, "partition" | "version">> = z.strictObject({
  state,
  epoch: count,
  bytes: count,
  events: count,
  immutable: z.boolean(),
  detectedAt: z.number().int(),
  history: z.array(
    z.strictObject({
      at: z.number().int(),
      by: z.string(),
      from: state.nullable(),
      to: state,
      reason: z.string(),
    }),
  ),
});

function decode(space: string, partition: PartitionKey, stored: CatalogRecord): SplitRecord {
  return {
    ...decodeStored(splitSchema, space, stored),
    partition,
    version: stored.version,
  };
}
