/**
 * The blocked ids of a namespace in the catalog: space `blocked/<namespace id>`, key = the series
 * id.
 */
import { compareAndSet, LOST } from "../lib/compare-and-set.ts";
import { z } from "zod";
import type { BlockedId } from "../model/namespace.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { decodeStored, encodeStored, listAll, storedObject } from "./stored-json.ts";

/** Every server holds all blocked ids of the namespaces it serves in memory. */
export const BLOCKED_IDS_MAX = 100_000;

/** Every blocked id, including expired ones, by the bytes of the id. */
export async function* readBlocked(
  catalog: Catalog,
  namespaceId: string,
): AsyncGenerator<BlockedId, void, undefined> {
  const space = blockedSpace(namespaceId);
  for await (const stored of listAll(catalog, space)) yield decode(space, stored);
}

/** At most `limit` behind the id `after`. */
export async function listBlocked(
  catalog: Catalog,
  namespaceId: string,
  after: string,
  limit: number,
): Promise<BlockedId[]> {
  const space = blockedSpace(namespaceId);
  const page = await catalog.list(space, after, limit);
  return page.map((stored) => decode(space, stored));
}

/** Writes it whether or not there was one. True if there was none. */
export async function putBlocked(
  catalog: Catalog,
  namespaceId: string,
  block: BlockedId,
): Promise<boolean> {
  const space = blockedSpace(namespaceId);
  const { seriesId, reason, expiresAt, blockedAt } = block;
  const value = encodeStored({ reason, expiresAt: expiresAt ?? null, blockedAt });
  return compareAndSet(CONFLICT, async () => {
    const before = await catalog.read(space, seriesId);
    const written = await catalog.write(space, seriesId, value, before?.version ?? 0);
    return written === undefined ? LOST : before === undefined;
  });
}

/** True if there was one. */
export async function removeBlocked(
  catalog: Catalog,
  namespaceId: string,
  seriesId: string,
): Promise<boolean> {
  const space = blockedSpace(namespaceId);
  return compareAndSet(CONFLICT, async () => {
    const before = await catalog.read(space, seriesId);
    if (before === undefined) return false;
    return (await catalog.remove(space, seriesId, before.version)) ? true : LOST;
  });
}

const CONFLICT = { message: "another process changed the blocked ids meanwhile; try again" };

function blockedSpace(namespaceId: string): string {
  return `blocked/${namespaceId}`;
}

const blockSchema = storedObject({
  reason: z.string(),
  expiresAt: z.number().int().nullable(),
  blockedAt: z.number().int(),
});

function decode(space: string, stored: CatalogRecord): BlockedId {
  const { reason, expiresAt, blockedAt } = decodeStored(blockSchema, space, stored);
  return {
    seriesId: stored.key,
    reason,
    expiresAt: expiresAt ?? undefined,
    blockedAt,
    source: "API",
  };
}
