/**
 * What a walk found of a slice, where it is too large for one record. The key `head` names the walk;
 * the rest lies in chunks, keys `<start of the walk>/<number>`.
 *
 * A walk writes its chunks first and the head last, so a reader of the head finds them whole. Chunks
 * of older walks are removed afterwards.
 */
import type { z } from "zod";
import { LOST, tryCompareAndSet } from "../lib/compare-and-set.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { timeKey } from "./split-spaces.ts";
import { isStampedAhead } from "./stamped-ahead.ts";
import { decodeStored, encodeStored, listAll } from "./stored-json.ts";

const HEAD = "head";
/** A newer walk replaced the chunks while they were read. */
const READS_MAX = 5;

/** When a walk began and ended, in microseconds. */
export interface WalkStamp {
  readonly asOf: number;
  readonly endedAt: number;
}

export interface ChunkSchemas<H, C> {
  readonly head: z.ZodType<H & WalkStamp & { readonly chunks: number }>;
  readonly chunk: z.ZodType<C>;
}

/** Undefined if the slice was not walked yet. */
export async function readWalkChunks<H, C>(
  catalog: Catalog,
  space: string,
  schemas: ChunkSchemas<H, C>,
): Promise<{ readonly head: H & WalkStamp; readonly chunks: readonly C[] } | undefined> {
  const found = await tryCompareAndSet(async () => {
    const stored = await catalog.read(space, HEAD);
    if (stored === undefined) return undefined;
    const { chunks: count, ...head } = decodeStored(schemas.head, space, stored);
    const chunks: C[] = [];
    for (let nth = 0; nth < count; nth++) {
      const chunk = await catalog.read(space, chunkKey(head.asOf, nth));
      if (chunk === undefined) return LOST;
      chunks.push(decodeStored(schemas.chunk, space, chunk));
    }
    return { head: head as unknown as H & WalkStamp, chunks };
  }, READS_MAX);
  return found === LOST ? undefined : found;
}

/**
 * Replaces what an older walk, or this one, stored; does nothing if there is a newer one, unless a
 * clock far ahead stamped it.
 */
export async function writeWalkChunks<H, C extends object>(
  catalog: Catalog,
  space: string,
  schemas: ChunkSchemas<H, C>,
  walk: { readonly head: H & WalkStamp; readonly chunks: readonly C[] },
): Promise<void> {
  const { head, chunks } = walk;
  const { asOf } = head;
  for (const [nth, chunk] of chunks.entries()) {
    await replace(catalog, space, chunkKey(asOf, nth), chunk, () => true);
  }
  const isOlder = (stored: CatalogRecord): boolean => {
    const before = decodeStored(schemas.head, space, stored);
    return before.asOf <= asOf || isStampedAhead(before.endedAt, head.endedAt);
  };
  await replace(catalog, space, HEAD, { ...head, chunks: chunks.length }, isOlder);
  for await (const { key, version } of listAll(catalog, space)) {
    if (key !== HEAD && key < timeKey(asOf)) await catalog.remove(space, key, version);
  }
}

/** A list as chunks of `size` entries. */
export function inChunks<T>(all: readonly T[], size: number): T[][] {
  const count = Math.ceil(all.length / size);
  return Array.from({ length: count }, (_, nth) => all.slice(nth * size, (nth + 1) * size));
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

function chunkKey(asOf: number, nth: number): string {
  return `${timeKey(asOf)}/${String(nth).padStart(3, "0")}`;
}
