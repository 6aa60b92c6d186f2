/**
 * Removes all that a namespace had, once it is marked as DELETING and everybody knows (within L).
 *
 * Safe to repeat from anywhere, also by two at a time: the record of the namespace goes last, and
 * with it the reason to come back.
 */
import { readBlocked, removeBlocked } from "./blocked-records.ts";
import { forEachBounded } from "./change-slices.ts";
import type { Storage } from "./change-slices.ts";
import { readNamespace, removeNamespace } from "./namespace-records.ts";
import type { NamespaceRecord } from "./namespace-records.ts";
import { readSlices, removeSlice } from "./slice-records.ts";

/** Ids removed at a time: they are listed anew each time, so memory stays small. */
const BLOCKED_BATCH = 1_000;

export async function finishDeletion(storage: Storage, record: NamespaceRecord): Promise<void> {
  const { catalog, store } = storage;
  const namespaceId = record.id;
  const slices = await readSlices(catalog, namespaceId);
  await forEachBounded(slices, async (slice) => {
    if (!slice.storeDropped) await store.dropSlice({ namespaceId, slice: slice.name });
    await removeSlice(catalog, namespaceId, slice);
  });
  let removed: number;
  do {
    removed = await removeSomeBlocked(storage, namespaceId);
  } while (removed > 0);
  for (;;) {
    const current = await readNamespace(catalog, record.name);
    // Gone, or already another one under the same name.
    if (current?.id !== namespaceId || current.phase !== "DELETING") return;
    if (await removeNamespace(catalog, current)) return;
  }
}

async function removeSomeBlocked({ catalog }: Storage, namespaceId: string): Promise<number> {
  const ids: string[] = [];
  for await (const { seriesId } of readBlocked(catalog, namespaceId)) {
    ids.push(seriesId);
    if (ids.length === BLOCKED_BATCH) break;
  }
  await forEachBounded(ids, (id) => removeBlocked(catalog, namespaceId, id));
  return ids.length;
}
