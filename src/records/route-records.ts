/**
 * What servers follow to a split, as the catalog holds it: space `routes/<namespace id>/<slice>/<shard>`,
 * key = the partition. Small, and apart from history and checkpoints (rule C19).
 *
 * A route says which version of the split it was taken from, and one of an older version never replaces
 * one of a newer: so whoever publishes late brings nothing back. That is also why a split that is no
 * more has an empty route, not none: what is not there has no version to compare with.
 */
import { compareAndSet, LOST } from "../lib/compare-and-set.ts";
import type { PartitionKey, SliceRef } from "../model/partition.ts";
import { routeOf } from "../model/split.ts";
import type { RouteRecord, SplitRecord } from "../model/split.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { routeSchema } from "./split-schema.ts";
import { keyOf, partitionOf, SHARDS, shardSpace, spaceOf } from "./split-spaces.ts";
import { decodeStored, encodeStored, listAll } from "./stored-json.ts";

export async function readRoute(
  catalog: Catalog,
  partition: PartitionKey,
): Promise<RouteRecord | undefined> {
  const space = spaceOf("routes", partition);
  const stored = await catalog.read(space, keyOf(partition));
  return stored === undefined ? undefined : decode(space, partition, stored);
}

/** Every route of a slice, also empty ones, a bounded page at a time. */
export async function* listRoutes(
  catalog: Catalog,
  slice: SliceRef,
): AsyncGenerator<RouteRecord, void, undefined> {
  for (let shard = 0; shard < SHARDS; shard++) {
    const space = shardSpace("routes", slice, shard);
    for await (const stored of listAll(catalog, space)) {
      yield decode(space, partitionOf(slice, stored.key), stored);
    }
  }
}

/** The route of a record as it is stored: unless a later one is published already. */
export async function publishRoute(catalog: Catalog, record: SplitRecord): Promise<void> {
  const space = spaceOf("routes", record.partition);
  const key = keyOf(record.partition);
  const route = routeOf(record);
  const message = "the split was changed by others meanwhile; try again";
  await compareAndSet({ message }, async () => {
    const stored = await catalog.read(space, key);
    // One of an older version is written over also where it says the same: `of` must rise.
    if (stored !== undefined && decode(space, record.partition, stored).of >= route.of) return;
    const value = encodeStored(route);
    const written = await catalog.write(space, key, value, stored?.version ?? 0);
    return written === undefined ? LOST : undefined;
  });
}

/** Of a split that is gone with its slice. */
export async function removeRoute(catalog: Catalog, partition: PartitionKey): Promise<void> {
  const space = spaceOf("routes", partition);
  const stored = await catalog.read(space, keyOf(partition));
  if (stored !== undefined) await catalog.remove(space, stored.key, stored.version);
}

function decode(space: string, partition: PartitionKey, stored: CatalogRecord): RouteRecord {
  return { ...decodeStored(routeSchema, space, stored), partition };
}
