/**
 * Removes everything of a namespace that no process sees any more: one that is marked as DELETING,
 * once every process has seen the mark (within view_max_age), or a deleted one that is PURGING.
 *
 * Safe to repeat from any point, also by two processes at once: the record that has the mark is
 * removed last, and with it the reason to repeat. A process that is no longer the owner stops
 * before the next slice.
 */
import { readBlocked, removeBlocked } from "../records/blocked-records.ts";
import { forEachBounded } from "../lib/for-each-bounded.ts";
import { requireOwner } from "./change-slices.ts";
import type { Storage } from "../ports/storage.ts";
import { readNamespace, removeNamespace } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { readSlices, removeSlice } from "../records/slice-records.ts";
import { noteDroppedSlice, noteRemovedNamespace } from "../records/dropped-slices.ts";
import { dropTables } from "./make-tables.ts";
import { removeOwnership } from "./slice-ownership.ts";
import { removeSplitMark } from "../records/changed-splits.ts";
import { removeAll } from "../records/split-spaces.ts";

/** Ids removed at a time: each batch lists them again, so memory stays small. */
const BLOCKED_BATCH = 1_000;
/** The namespace's other spaces in the catalog, beside its slices. */
const SPACES = [
  "id-strategies",
  "evidence",
  "split-slices",
  "verify",
  "histograms",
  "size-reports",
  "tunings",
  "read-activity",
];

/** For a namespace that is marked as DELETING. */
export async function finishDeletion(
  storage: Storage,
  record: NamespaceRecord,
  isOwner: () => boolean,
): Promise<void> {
  const { catalog } = storage;
  await destroyNamespace(storage, record, isOwner);
  for (;;) {
    const current = await readNamespace(catalog, record.name);
    // Removed, or already another namespace under the same name.
    if (current?.id !== record.id || current.phase !== "DELETING") return;
    if (await removeNamespace(catalog, current)) return;
  }
}

/** Everything but the record that has the mark. */
export async function destroyNamespace(
  storage: Storage,
  record: NamespaceRecord,
  isOwner: () => boolean,
): Promise<void> {
  const { catalog, store } = storage;
  const namespaceId = record.id;
  let removed: number;
  do {
    // Until none is left: a process that was making slices at the time of the mark may list one.
    removed = await removeSlices(storage, record, isOwner);
  } while (removed > 0);
  do {
    requireOwner(isOwner, record);
    removed = await removeSomeBlocked(storage, namespaceId);
  } while (removed > 0);
  for (const space of SPACES) {
    requireOwner(isOwner, record);
    await removeAll(catalog, `${space}/${namespaceId}`);
  }
  await noteRemovedNamespace(catalog, namespaceId);
  await removeSplitMark(catalog, namespaceId);
  await store.dropNamespace(namespaceId);
  if (catalog.shared) await removeOwnership(catalog, namespaceId);
}

async function removeSlices(
  { catalog, store }: Storage,
  record: NamespaceRecord,
  isOwner: () => boolean,
): Promise<number> {
  const namespaceId = record.id;
  const slices = await readSlices(catalog, namespaceId);
  await forEachBounded(slices, async (slice) => {
    requireOwner(isOwner, record);
    const ref = { namespaceId, slice: slice.name };
    if (!slice.storeDropped) {
      await dropTables(store, ref);
      await noteDroppedSlice(catalog, ref);
    }
    await removeSlice(catalog, namespaceId, slice);
  });
  return slices.length;
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
