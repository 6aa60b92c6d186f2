/**
 * Removes a deleted namespace with all its events, for good. The mark PURGING comes first: from then
 * on no process restores it. A crash leaves the mark, and the slice reconciler finishes the purge.
 */
import { LOST, tryCompareAndSet } from "../lib/compare-and-set.ts";
import { ServiceError } from "../lib/errors.ts";
import type { Catalog } from "../ports/catalog.ts";
import { readDeleted, removeDeleted, writeDeleted } from "../records/deleted-records.ts";
import type { DeletedRecord } from "../records/deleted-records.ts";
import { namespaceConflict } from "../records/namespace-records.ts";
import type { Changing } from "./change-slices.ts";
import { destroyNamespace } from "./finish-deletion.ts";
import type { OwnerWait } from "./slice-ownership.ts";

/** Undefined if it is gone already. CONFLICT if it was restored. */
export async function markPurging(
  catalog: Catalog,
  { id, namespace }: DeletedRecord,
): Promise<DeletedRecord | undefined> {
  const marked = await tryCompareAndSet(async () => {
    const current = await readDeleted(catalog, id);
    if (current === undefined || current.phase === "PURGING") return current;
    if (current.phase === "RESTORED") throw wasRestored(current);
    return (await writeDeleted(catalog, { ...current, phase: "PURGING" })) ?? LOST;
  });
  if (marked === LOST) throw namespaceConflict(namespace.name);
  return marked;
}

/**
 * Removes what is marked as PURGING and no longer holds its name. "busy": another process owns its
 * tables.
 */
export async function finishPurge(
  changing: Changing,
  marked: DeletedRecord,
  wait: OwnerWait,
): Promise<"purged" | "busy"> {
  const { catalog, ownership } = changing;
  const { id, namespace } = marked;
  // By id: the name may belong to another namespace.
  return ownership.take(id, () =>
    ownership.own(id, wait, async (isOwner): Promise<"purged"> => {
      await destroyNamespace(changing, namespace, isOwner);
      for (;;) {
        const current = await readDeleted(catalog, id);
        if (current === undefined || (await removeDeleted(catalog, current))) return "purged";
      }
    }),
  );
}

function wasRestored({ id, namespace }: DeletedRecord): ServiceError {
  return new ServiceError(
    "CONFLICT",
    `namespace ${id} was restored as "${namespace.name}"; delete that one first`,
    { details: { namespace: namespace.name, id } },
  );
}
