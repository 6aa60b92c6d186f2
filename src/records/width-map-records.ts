/**
 * The width map of a slice, as its last walk found it: space `width-maps/<namespace id>/<slice>`,
 * in chunks of cells. It goes when the slice is dropped.
 */
import { z } from "zod";
import type { SliceRef } from "../model/partition.ts";
import type { WidthMap } from "../model/width-map.ts";
import type { GridCell } from "../model/width-grid.ts";
import type { Catalog } from "../ports/catalog.ts";
import { removeAll } from "./split-spaces.ts";
import { storedObject } from "./stored-json.ts";
import { inChunks, readWalkChunks, writeWalkChunks } from "./walk-chunks.ts";
import type { ChunkSchemas } from "./walk-chunks.ts";

/** At most about 100 KB. */
const CHUNK_CELLS = 2_000;

const count = z.number().nonnegative();

/** Cells of a grid as they are stored, here and with the position of a walk. */
export const gridCellsSchema: z.ZodType<readonly GridCell[]> = z.array(
  z.tuple([count, count, count, count, count]),
);

/** Undefined if the slice was not walked yet. */
export async function readWidthMap(
  catalog: Catalog,
  slice: SliceRef,
): Promise<WidthMap | undefined> {
  const found = await readWalkChunks(catalog, spaceOf(slice), SCHEMAS);
  if (found === undefined) return undefined;
  const of = (grid: "bySize" | "byHash"): GridCell[] =>
    found.chunks.flatMap((chunk) => (chunk.grid === grid ? chunk.cells : []));
  return { ...found.head, grids: { bySize: of("bySize"), byHash: of("byHash") } };
}

/** Replaces what an older walk stored; an older walk changes nothing. */
export function writeWidthMap(
  catalog: Catalog,
  slice: SliceRef,
  { grids, ...head }: WidthMap,
): Promise<void> {
  const chunks = (["bySize", "byHash"] as const).flatMap((grid) =>
    inChunks(grids[grid], CHUNK_CELLS).map((cells) => ({ grid, cells })),
  );
  return writeWalkChunks(catalog, spaceOf(slice), SCHEMAS, { head, chunks });
}

/** For a slice that was dropped. */
export function removeWidthMap(catalog: Catalog, slice: SliceRef): Promise<void> {
  return removeAll(catalog, spaceOf(slice));
}

function spaceOf({ namespaceId, slice }: SliceRef): string {
  return `width-maps/${namespaceId}/${slice}`;
}

interface Chunk {
  readonly grid: "bySize" | "byHash";
  readonly cells: readonly GridCell[];
}

const SCHEMAS: ChunkSchemas<Omit<WidthMap, "grids">, Chunk> = {
  head: storedObject({
    asOf: z.number().int(),
    endedAt: z.number().int(),
    sealed: z.boolean(),
    complete: z.boolean(),
    sampleShare: z.number().positive().max(1),
    omissions: storedObject({ notCounted: count, estimated: count, failed: count }),
    shape: storedObject({
      columns: z.number().int().positive(),
      bucketsPerColumn: z.number().int().positive(),
    }),
    sizes: storedObject({
      count,
      total: count,
      min: count,
      max: count,
      buckets: z.array(z.tuple([count, count])),
    }),
    totalEvents: count,
    chunks: z.number().int().nonnegative(),
  }),
  chunk: storedObject({ grid: z.enum(["bySize", "byHash"]), cells: gridCellsSchema }),
};
