/**
 * The largest partitions of a slice, as its last walk found them: space
 * `top-partitions/<namespace id>/<slice>`. The key `head` names the walk; its partitions lie in
 * chunks, keys `<start of the walk>/<number>`, because two thousand long ids are too much for one
 * record.
 *
 * A walk writes its chunks first and the head last, so a reader of the head finds them whole. Chunks
 * of older walks are removed afterwards.
 */
import { z } from "zod";
import { LOST, tryCompareAndSet } from "../lib/compare-and-set.ts";
import type { SliceRef } from "../model/partition.ts";
import type { TopPartition, TopPartitions } from "../model/top-partition.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { removeAll, timeKey } from "./split-spaces.ts";
import { isStampedAhead } from "./stamped-ahead.ts";
import { decodeStored, encodeStored, listAll, storedObject } from "./stored-json.ts";

const HEAD = "head";
/** About 60 KB with the longest ids. */
const CHUNK_PARTITIONS = 100;
/** A newer walk replaced the chunks while they were read. */
const READS_MAX = 5;

/** Undefined if the slice was not walked yet. */
export async function readTopPartitions(
  catalog: Catalog,
  slice: SliceRef,
): Promise<TopPartitions | undefined> {
  const space = spaceOf(slice);
  const found = await tryCompareAndSet(async () => {
    const stored = await catalog.read(space, HEAD);
    if (stored === undefined) return undefined;
    const { chunks, ...head } = decodeStored(headSchema, space, stored);
    const partitions: TopPartition[] = [];
    for (let nth = 0; nth < chunks; nth++) {
      const chunk = await catalog.read(space, chunkKey(head.asOf, nth));
      if (chunk === undefined) return LOST;
      partitions.push(...decodeStored(chunkSchema, space, chunk).partitions);
    }
    return { ...head, partitions };
  }, READS_MAX);
  return found === LOST ? undefined : found;
}

/** Replaces what an older walk, or this one, stored; does nothing if there is a newer one, unless a clock far ahead stamped it. */
export async function writeTopPartitions(
  catalog: Catalog,
  slice: SliceRef,
  top: TopPartitions,
): Promise<void> {
  const space = spaceOf(slice);
  const { partitions, ...head } = top;
  const chunks = Math.ceil(partitions.length / CHUNK_PARTITIONS);
  for (let nth = 0; nth < chunks; nth++) {
    const some = partitions.slice(nth * CHUNK_PARTITIONS, (nth + 1) * CHUNK_PARTITIONS);
    await replace(catalog, space, chunkKey(top.asOf, nth), { partitions: some }, () => true);
  }
  const isOlder = (stored: CatalogRecord): boolean => {
    const { asOf, endedAt } = decodeStored(headSchema, space, stored);
    return asOf <= top.asOf || isStampedAhead(endedAt, top.endedAt);
  };
  await replace(catalog, space, HEAD, { ...head, chunks }, isOlder);
  for await (const { key, version } of listAll(catalog, space)) {
    if (key !== HEAD && key < timeKey(top.asOf)) await catalog.remove(space, key, version);
  }
}

/** For a slice that was dropped. */
export function removeTopPartitions(catalog: Catalog, slice: SliceRef): Promise<void> {
  return removeAll(catalog, spaceOf(slice));
}

async function replace(
  catalog: Catalog,
  space: string,
  key: string,
  fields: object,
  mayReplace: (stored: CatalogRecord) => boolean,
): Promise<void> {
  await tryCompareAndSet(async () => {
    const stored = await catalog.read(space, key);
    if (stored !== undefined && !mayReplace(stored)) return;
    const version = stored?.version ?? 0;
    const written = await catalog.write(space, key, encodeStored(fields), version);
    return written === undefined ? LOST : undefined;
  });
}

function spaceOf({ namespaceId, slice }: SliceRef): string {
  return `top-partitions/${namespaceId}/${slice}`;
}

function chunkKey(asOf: number, nth: number): string {
  return `${timeKey(asOf)}/${String(nth).padStart(3, "0")}`;
}

const count = z.number().nonnegative();

const headSchema: z.ZodType<Omit<TopPartitions, "partitions"> & { readonly chunks: number }> =
  storedObject({
    asOf: z.number().int(),
    endedAt: z.number().int(),
    complete: z.boolean(),
    totalBytes: count,
    totalEvents: count,
    chunks: z.number().int().nonnegative(),
  });

const chunkSchema: z.ZodType<Pick<TopPartitions, "partitions">> = storedObject({
  partitions: z.array(
    storedObject({
      seriesId: z.string(),
      timeBucket: count,
      eventBucket: count,
      bytes: count,
      events: count,
      exact: z.boolean(),
    }),
  ),
});
