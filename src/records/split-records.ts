/**
 * The records of splits in the catalog: space `splits/<namespace id>/<slice>/<shard>`, key = the
 * partition. Every change is compare-and-set and goes through `moveSplit`, which keeps the route
 * and the due time in step with the record.
 *
 * Most slices have no splits, and a search takes one call for each shard: so the slices that may
 * have some are noted before the first is written, in space `split-slices/<namespace id>`, key =
 * the slice.
 */
import type { PartitionKey, SliceRef } from "../model/partition.ts";
import type { SplitMove, SplitRecord } from "../model/split.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { splitSchema } from "./split-schema.ts";
import {
  keyOf,
  partitionOf,
  removeAll,
  removeAllOf,
  SHARDS,
  shardSpace,
  spaceOf,
} from "./split-spaces.ts";
import { decodeOrSkip, decodeStored, encodeStored, listAll } from "./stored-json.ts";
import type { UnreadableEntry } from "./stored-json.ts";

/** A history keeps this many of its first moves, and the latest ones. */
const FIRST_MOVES = 10;
const LAST_MOVES = 40;

export async function readSplit(
  catalog: Catalog,
  partition: PartitionKey,
): Promise<SplitRecord | undefined> {
  const space = spaceOf("splits", partition);
  const stored = await catalog.read(space, keyOf(partition));
  return stored === undefined ? undefined : decode(space, partition, stored);
}

/**
 * Writes over the version it was read with (0: a new one). Undefined if it has changed meanwhile.
 * Does not update the route and the due time: change a record through `moveSplit`.
 */
export async function writeSplit(
  catalog: Catalog,
  record: SplitRecord,
): Promise<SplitRecord | undefined> {
  const history = boundedHistory(record.history);
  const { partition, version, ...stored } = { ...record, history };
  const space = spaceOf("splits", partition);
  const value = encodeStored(stored);
  // An existing one has the same content.
  if (version === 0)
    await catalog.write(slicesSpace(partition), partition.slice, encodeStored({}), 0);
  const written = await catalog.write(space, keyOf(partition), value, version);
  return written === undefined ? undefined : { ...record, history, version: written };
}

/**
 * Every record of a slice, shard by shard, a bounded page at a time. A record that cannot be
 * decoded is given to `skip`; without it the listing fails.
 */
export async function* listSplits(
  catalog: Catalog,
  slice: SliceRef,
  skip: (entry: UnreadableEntry) => void = fail,
): AsyncGenerator<SplitRecord, void, undefined> {
  for (let shard = 0; shard < SHARDS; shard++) {
    const space = shardSpace("splits", slice, shard);
    for await (const stored of listAll(catalog, space)) {
      const record = decodeListed(space, slice, stored, skip);
      if (record !== undefined) yield record;
    }
  }
}

/**
 * At most `limit` of them, from `cursor` on ("" for the first); `skip` as above. The returned
 * cursor is "" at the end.
 */
export async function listSplitsPage(
  catalog: Catalog,
  slice: SliceRef,
  cursor: string,
  limit: number,
  skip: (entry: UnreadableEntry) => void = fail,
): Promise<{ readonly records: SplitRecord[]; readonly cursor: string }> {
  const bar = cursor.indexOf("|");
  let after = cursor.slice(bar + 1);
  const records: SplitRecord[] = [];
  for (let shard = bar < 0 ? 0 : Number(cursor.slice(0, bar)); shard < SHARDS; shard++) {
    const space = shardSpace("splits", slice, shard);
    for (let ended = false; !ended;) {
      const wanted = limit - records.length;
      const page = await catalog.list(space, after, wanted);
      for (const stored of page) {
        const record = decodeListed(space, slice, stored, skip);
        if (record !== undefined) records.push(record);
      }
      const last = page.at(-1);
      if (last !== undefined && records.length >= limit) {
        return { records, cursor: `${shard}|${last.key}` };
      }
      after = last?.key ?? "";
      ended = page.length < wanted;
    }
    after = "";
  }
  return { records, cursor: "" };
}

/** The names of the slices that may have splits: no other slice has any. */
export async function slicesWithSplits(
  catalog: Catalog,
  namespaceId: string,
): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for await (const { key } of listAll(catalog, slicesSpace({ namespaceId }))) names.add(key);
  return names;
}

/** From then on no listing shows the splits of a slice, which is dropped for good. */
export async function removeSplitsNote(catalog: Catalog, slice: SliceRef): Promise<void> {
  const noted = await catalog.read(slicesSpace(slice), slice.slice);
  if (noted !== undefined) await catalog.remove(slicesSpace(slice), noted.key, noted.version);
}

/**
 * Removes the splits, routes and parts of a slice that was dropped for good, with its note; true if
 * none is left, false if it may not continue. Their due entries settle themselves. A record that a
 * late process creates meanwhile is due, and is removed when a worker gets to it.
 */
export async function removeSplits(
  catalog: Catalog,
  slice: SliceRef,
  continues: () => boolean = () => true,
): Promise<boolean> {
  // The splits first: from then on no process moves one, so none publishes a route.
  for (const kind of ["splits", "routes", "parts"] as const) {
    if (!(await removeAllOf(catalog, kind, slice, continues))) return false;
  }
  await removeSplitsNote(catalog, slice);
  return true;
}

/**
 * After `removeSplits`: removes what a late process has created since, in the shard of a partition.
 */
export async function removeLateSplits(catalog: Catalog, partition: PartitionKey): Promise<void> {
  for (const kind of ["parts", "splits", "routes"] as const) {
    await removeAll(catalog, spaceOf(kind, partition));
  }
  await removeSplitsNote(catalog, partition);
}

function slicesSpace({ namespaceId }: Pick<SliceRef, "namespaceId">): string {
  return `split-slices/${namespaceId}`;
}

function boundedHistory(history: readonly SplitMove[]): readonly SplitMove[] {
  if (history.length <= FIRST_MOVES + LAST_MOVES) return history;
  return [...history.slice(0, FIRST_MOVES), ...history.slice(-LAST_MOVES)];
}

function decodeListed(
  space: string,
  slice: SliceRef,
  stored: CatalogRecord,
  skip: (entry: UnreadableEntry) => void,
): SplitRecord | undefined {
  const read = (): SplitRecord => decode(space, partitionOf(slice, stored.key), stored);
  return decodeOrSkip(space, stored, read, skip);
}

function fail({ error }: UnreadableEntry): never {
  throw error;
}

function decode(space: string, partition: PartitionKey, stored: CatalogRecord): SplitRecord {
  const { namespaceId, slice, seriesId, timeBucket, eventBucket } = partition;
  return {
    ...decodeStored(splitSchema, space, stored),
    partition: { namespaceId, slice, seriesId, timeBucket, eventBucket },
    version: stored.version,
  };
}
