/**
 * Visits all splits of a namespace after a change of its time: one page of keys at a time, a few
 * splits concurrently.
 */
import { isUnreadable } from "../../lib/stored-format.ts";
import type { PartitionKey, SliceRef } from "../../model/partition.ts";
import type { SplitRecord } from "../../model/split.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { forEachBounded } from "../../lib/for-each-bounded.ts";
import { readSplit, slicesWithSplits } from "../../records/split-records.ts";
import { partitionOf, SHARDS, shardSpace } from "../../records/split-spaces.ts";

const PAGE = 500;

export async function forEachSplit(
  catalog: Catalog,
  namespaceId: string,
  work: (partition: PartitionKey) => Promise<unknown>,
  signal?: AbortSignal,
): Promise<void> {
  for (const slice of await slicesWithSplits(catalog, namespaceId)) {
    for (let shard = 0; shard < SHARDS; shard++) {
      await forEachOfShard(catalog, { namespaceId, slice }, shard, work, signal);
    }
  }
}

async function forEachOfShard(
  catalog: Catalog,
  slice: SliceRef,
  shard: number,
  work: (partition: PartitionKey) => Promise<unknown>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const space = shardSpace("splits", slice, shard);
  for (let after = ""; ;) {
    signal?.throwIfAborted();
    const page = await catalog.list(space, after, PAGE);
    await forEachBounded(page, ({ key }) => work(partitionOf(slice, key)));
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.key;
  }
}

/** A record that cannot be read must not keep the others waiting: no process can move it. */
export async function readIfSound(
  catalog: Catalog,
  partition: PartitionKey,
): Promise<SplitRecord | undefined> {
  try {
    return await readSplit(catalog, partition);
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}
