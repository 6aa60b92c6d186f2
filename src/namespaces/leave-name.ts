/**
 * Moves a LEAVING namespace from its name to `deleted/<id>`, from where it can be restored
 * (rule C26). Safe to repeat from any point, also by two processes at once.
 *
 * The record in `deleted` is always written before the name is freed. A process that resumes late
 * changes nothing: it reads that record first and then the namespace, which must still be LEAVING.
 * So the namespace had not been freed, let alone restored, when the record had the version that the
 * process writes over.
 */
import { LOST, tryCompareAndSet } from "../lib/compare-and-set.ts";
import type { Lost } from "../lib/compare-and-set.ts";
import { mapBounded } from "../lib/map-bounded.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { Storage } from "../ports/storage.ts";
import { readDeleted, writeDeleted } from "../records/deleted-records.ts";
import type { DeletedRecord } from "../records/deleted-records.ts";
import { namespaceConflict, readNamespace, removeNamespace } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import { dropGraceOf } from "./due-changes.ts";

export interface Leaving extends Storage {
  readonly margins: TimeMargins;
}

type Named = Pick<NamespaceRecord, "id" | "name">;

const STATS_AT_ONCE = 8;

/** Writes `deleted/<id>`. Undefined if the namespace is no longer LEAVING. */
export async function recordDeletion(
  leaving: Leaving,
  named: Named,
): Promise<DeletedRecord | undefined> {
  const recorded = await tryCompareAndSet(() => recordOnce(leaving, named));
  if (recorded === LOST) throw namespaceConflict(named.name);
  return recorded?.deleted;
}

/**
 * Frees the name, once no process acts on a view from before the mark. Returns the record in
 * `deleted`; undefined if the namespace is no longer LEAVING.
 */
export async function freeName(leaving: Leaving, named: Named): Promise<DeletedRecord | undefined> {
  const freed = await tryCompareAndSet(async () => {
    const recorded = await recordOnce(leaving, named);
    if (recorded === LOST || recorded === undefined) return recorded;
    // Measured now, because servers wrote until their views were too old.
    const measured = await withSize(leaving, recorded.deleted);
    if (measured === undefined) return LOST;
    return (await removeNamespace(leaving.catalog, recorded.namespace)) ? measured : LOST;
  });
  if (freed === LOST) throw namespaceConflict(named.name);
  return freed;
}

/** Whether a deleted namespace still holds its name: then servers may still act on views of it. */
export async function holdsName(
  catalog: Catalog,
  { id, namespace }: DeletedRecord,
): Promise<boolean> {
  return (await readNamespace(catalog, namespace.name))?.id === id;
}

interface Recorded {
  readonly namespace: NamespaceRecord;
  readonly deleted: DeletedRecord;
}

async function recordOnce(
  { catalog, margins }: Leaving,
  { id, name }: Named,
): Promise<Recorded | undefined | Lost> {
  const before = await readDeleted(catalog, id);
  const namespace = await readNamespace(catalog, name);
  if (namespace?.id !== id || namespace.phase !== "LEAVING") return undefined;
  // It was restored under another name: it is alive there, and only this name is left over.
  if (before?.phase === "RESTORED" && before.namespace.name !== name) {
    return { namespace, deleted: before };
  }
  const { deletion } = namespace;
  if (deletion === null) throw namespaceConflict(name);
  const isRecorded = before !== undefined && before.phase !== "RESTORED";
  if (isRecorded && before.namespace.version === namespace.version) {
    return { namespace, deleted: before };
  }
  const purge = deletion.purge || dropGraceOf(namespace, margins) === 0;
  const deleted = await writeDeleted(catalog, {
    ...before,
    id,
    phase: purge || before?.phase === "PURGING" ? "PURGING" : "DELETED",
    namespace,
    deletion,
    graceFrom: deletion.inDoubt ? null : deletion.at,
    size: null,
    restoredOf: null,
    version: before?.version ?? 0,
  });
  return deleted === undefined ? LOST : { namespace, deleted };
}

/** Notes how much it holds. One whose slices are all empty needs no grace. */
async function withSize(
  { catalog, store }: Leaving,
  deleted: DeletedRecord,
): Promise<DeletedRecord | undefined> {
  if (deleted.size !== null || deleted.phase !== "DELETED") return deleted;
  const measured = await measure({ catalog, store }, deleted.id);
  if (measured === undefined) return deleted;
  const { empty, ...size } = measured;
  return writeDeleted(catalog, { ...deleted, size, phase: empty ? "PURGING" : deleted.phase });
}

interface Measured {
  readonly bytes: number;
  readonly events: number;
  readonly empty: boolean;
}

/** Undefined if the store cannot tell: a deletion does not depend on it. */
async function measure({ catalog, store }: Storage, id: string): Promise<Measured | undefined> {
  const slices = await readSlices(catalog, id);
  const refs = slices
    .filter(({ storeDropped }) => !storeDropped)
    .map(({ name }) => ({ namespaceId: id, slice: name }));
  const never = new AbortController().signal;
  let [bytes, events, empty] = [0, 0, true];
  try {
    const stats = mapBounded(
      refs,
      () => STATS_AT_ONCE,
      never,
      async (ref) => ({ ref, ...(await store.sliceStats(ref)) }),
    );
    for await (const stat of stats) {
      bytes += stat.bytes;
      events += stat.events;
      // Counts may be too low; only the store itself can tell that a slice is empty.
      empty &&= stat.events === 0 && (await store.isEmpty(stat.ref));
    }
  } catch {
    return undefined;
  }
  return { bytes, events, empty };
}
