/**
 * The largest partitions of a slice, as its last walk found them: space
 * `top-partitions/<namespace id>/<slice>`, in chunks, because two thousand long ids are too much
 * for one record.
 */
import { z } from "zod";
import type { SliceRef } from "../model/partition.ts";
import type { TopPartitions } from "../model/top-partition.ts";
import type { Catalog } from "../ports/catalog.ts";
import { removeAll } from "./split-spaces.ts";
import { storedObject } from "./stored-json.ts";
import { inChunks, readWalkChunks, writeWalkChunks } from "./walk-chunks.ts";
import type { ChunkSchemas } from "./walk-chunks.ts";

/** About 60 KB with the longest ids. */
const CHUNK_PARTITIONS = 100;

/** Undefined if the slice was not walked yet. */
export async function readTopPartitions(
  catalog: Catalog,
  slice: SliceRef,
): Promise<TopPartitions | undefined> {
  const found = await readWalkChunks(catalog, spaceOf(slice), SCHEMAS);
  if (found === undefined) return undefined;
  return { ...found.head, partitions: found.chunks.flatMap(({ partitions }) => partitions) };
}

/** Replaces what an older walk stored; an older walk changes nothing. */
export function writeTopPartitions(
  catalog: Catalog,
  slice: SliceRef,
  { partitions, ...head }: TopPartitions,
): Promise<void> {
  const chunks = inChunks(partitions, CHUNK_PARTITIONS).map((some) => ({ partitions: some }));
  return writeWalkChunks(catalog, spaceOf(slice), SCHEMAS, { head, chunks });
}

/** For a slice that was dropped. */
export function removeTopPartitions(catalog: Catalog, slice: SliceRef): Promise<void> {
  return removeAll(catalog, spaceOf(slice));
}

function spaceOf({ namespaceId, slice }: SliceRef): string {
  return `top-partitions/${namespaceId}/${slice}`;
}

const count = z.number().nonnegative();

const SCHEMAS: ChunkSchemas<
  Omit<TopPartitions, "partitions">,
  Pick<TopPartitions, "partitions">
> = {
  head: storedObject({
    asOf: z.number().int(),
    endedAt: z.number().int(),
    complete: z.boolean(),
    totalBytes: count,
    totalEvents: count,
    chunks: z.number().int().nonnegative(),
  }),
  chunk: storedObject({
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
  }),
};
