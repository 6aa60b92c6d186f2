/**
 * Finds the namespace of an internal id. Records around splits name their namespace, which may have
 * been deleted since, restored under another name, or replaced by another one under its name.
 */
import type { Catalog } from "../ports/catalog.ts";
import { readDeleted } from "./deleted-records.ts";
import { readNamespace } from "./namespace-records.ts";
import type { NamespaceRecord } from "./namespace-records.ts";

/**
 * "deleted": no server sees it, but it can be restored, so that nothing of it may be thrown away.
 * "gone": for good.
 *
 * `name` is the last known name. Costs one read if the namespace still has it.
 */
export async function locateNamespace(
  catalog: Catalog,
  id: string,
  name: string,
): Promise<NamespaceRecord | "deleted" | "gone"> {
  const found = await readNamespace(catalog, name);
  if (found?.id === id) return asLocated(found);
  // Read after the namespace: a deletion writes this record before it removes that one, and a
  // restoration keeps it.
  const deleted = await readDeleted(catalog, id);
  if (deleted === undefined || deleted.phase === "PURGING") return "gone";
  if (deleted.phase === "DELETED") return "deleted";
  const restored = await readNamespace(catalog, deleted.namespace.name);
  // Otherwise it has moved once more meanwhile.
  return restored?.id === id ? asLocated(restored) : "deleted";
}

function asLocated(record: NamespaceRecord): NamespaceRecord | "deleted" | "gone" {
  switch (record.phase) {
    case "READY":
      return record;
    case "LEAVING":
    case "RESTORING":
      return "deleted";
    case "CREATING":
    case "DELETING":
      return "gone";
  }
}
