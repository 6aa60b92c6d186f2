/**
 * Where the records of splits lie: `<kind>/<namespace id>/<slice>/<shard>`, keys by partition.
 *
 * A slice's records are spread over shards by the hash of the series id (rule C19), so that no
 * space becomes a wide partition itself, and those of one id are together.
 */
import { LOST, tryCompareAndSet } from "../lib/compare-and-set.ts";
import { utf8 } from "../lib/bytes.ts";
import { forEachBounded } from "../lib/for-each-bounded.ts";
import { hash32 } from "../lib/hash.ts";
import type { PartitionKey, SliceRef } from "../model/partition.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { listAll } from "./stored-json.ts";

export type SplitSpace = "splits" | "parts" | "routes";

/** Stored data depends on both: neither the number nor the seed may change. */
export const SHARDS = 16;
const SHARD_SEED = 0;
const REMOVE_ATTEMPTS_MAX = 5;
const REMOVED_AT_A_TIME = 250;

export function spaceOf(kind: SplitSpace, partition: PartitionKey): string {
  return shardSpace(kind, partition, shardOf(partition));
}

/** The shard of its slice that holds the records of a partition. */
export function shardOf({ seriesId }: PartitionKey): number {
  return hash32(utf8(seriesId), SHARD_SEED) % SHARDS;
}

export function shardSpace(
  kind: SplitSpace,
  { namespaceId, slice }: SliceRef,
  shard: number,
): string {
  return `${kind}/${namespaceId}/${slice}/${shard}`;
}

/**
 * An id may contain any character, and numbers contain no bar: the last two bars are separators.
 */
export function keyOf({ seriesId, timeBucket, eventBucket }: PartitionKey): string {
  return `${seriesId}|${timeBucket}|${eventBucket}`;
}

export function partitionOf(slice: SliceRef, key: string): PartitionKey {
  const second = key.lastIndexOf("|");
  const first = key.lastIndexOf("|", second - 1);
  return {
    namespaceId: slice.namespaceId,
    slice: slice.slice,
    seriesId: key.slice(0, first),
    timeBucket: Number(key.slice(first + 1, second)),
    eventBucket: Number(key.slice(second + 1)),
  };
}

/** A key of a slice and a partition of it. Neither namespace ids nor slice names contain a bar. */
export function slicedKeyOf(partition: PartitionKey): string {
  return `${partition.slice}|${keyOf(partition)}`;
}

export function slicedPartitionOf(namespaceId: string, key: string): PartitionKey {
  const bar = key.indexOf("|");
  return partitionOf({ namespaceId, slice: key.slice(0, bar) }, key.slice(bar + 1));
}

/** Times as keys that sort in the order of time. */
export function timeKey(micros: number): string {
  return String(Math.max(0, Math.floor(micros))).padStart(16, "0");
}

/**
 * Removes the records of a slice, except those created meanwhile. Each page begins behind the last
 * one: a listing from the first key would walk over all that was removed. False if it may not
 * continue.
 */
export async function removeAllOf(
  catalog: Catalog,
  kind: SplitSpace,
  slice: SliceRef,
  continues: () => boolean,
): Promise<boolean> {
  for (let shard = 0; shard < SHARDS; shard++) {
    const space = shardSpace(kind, slice, shard);
    for (let after = ""; ;) {
      if (!continues()) return false;
      const page = await catalog.list(space, after, REMOVED_AT_A_TIME);
      await forEachBounded(page, (record) => removeOne(catalog, space, record));
      const last = page.at(-1);
      if (last === undefined || page.length < REMOVED_AT_A_TIME) break;
      after = last.key;
    }
  }
  return true;
}

export async function removeAll(catalog: Catalog, space: string): Promise<void> {
  for await (const record of listAll(catalog, space)) await removeOne(catalog, space, record);
}

/** Also if it changes meanwhile, unless it changes again and again. */
async function removeOne(catalog: Catalog, space: string, record: CatalogRecord): Promise<void> {
  let there: CatalogRecord | undefined = record;
  await tryCompareAndSet(async () => {
    if (there === undefined || (await catalog.remove(space, there.key, there.version))) return;
    there = await catalog.read(space, there.key);
    return LOST;
  }, REMOVE_ATTEMPTS_MAX);
}
