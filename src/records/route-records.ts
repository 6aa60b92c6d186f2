/**
 * What servers follow to a split, in the catalog: space `routes/<namespace id>/<slice>/<shard>`,
 * key = the partition. Small, and separate from history and checkpoints (rule C19).
 *
 * A route holds the version of the split it was derived from, and an older version never replaces a
 * newer one: so a late publisher restores nothing. For the same reason a split that no longer
 * exists has an empty route, not none: a missing route has no version to compare with.
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

/** Every route of a slice, including empty ones, by bounded pages. */
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

/** Publishes the route of a record as it is stored, unless a later one is published already. */
export async function publishRoute(catalog: Catalog, record: SplitRecord): Promise<void> {
  const space = spaceOf("routes", record.partition);
  const key = keyOf(record.partition);
  const route = routeOf(record);
  const message = "another process changed the split meanwhile; try again";
  await compareAndSet({ message }, async () => {
    const stored = await catalog.read(space, key);
    // A route of an older version is overwritten even if its content is equal: `of` must rise.
    if (stored !== undefined && decode(space, record.partition, stored).of >= route.of) return;
    const value = encodeStored(route);
    const written = await catalog.write(space, key, value, stored?.version ?? 0);
    return written === undefined ? LOST : undefined;
  });
}

/** For a split that was removed with its slice. */
export async function removeRoute(catalog: Catalog, partition: PartitionKey): Promise<void> {
  const space = spaceOf("routes", partition);
  const stored = await catalog.read(space, keyOf(partition));
  if (stored !== undefined) await catalog.remove(space, stored.key, stored.version);
}

function decode(space: string, partition: PartitionKey, stored: CatalogRecord): RouteRecord {
  return { ...decodeStored(routeSchema, space, stored), partition };
}
