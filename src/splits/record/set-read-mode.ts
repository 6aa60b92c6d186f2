/**
 * Changes how far a namespace's reads trust its splits. The mode is in the namespace's record, so
 * that views carry it, and changes by compare-and-set (rule C13).
 */
import type { ReadModeState } from "../../model/read-mode.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { requireReady, updateNamespace } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";

/**
 * Changes the mode, or leaves it if `change` returns undefined; `change` may be called several
 * times. This function raises the round, whatever `change` returns.
 */
export function setReadMode(
  catalog: Catalog,
  name: string,
  change: (current: NamespaceRecord) => Omit<ReadModeState, "round"> | undefined,
): Promise<NamespaceRecord> {
  return updateNamespace(catalog, name, (found) => {
    const current = requireReady(found, name);
    const next = change(current);
    if (next === undefined) return undefined;
    return { ...current, readMode: { ...next, round: current.readMode.round + 1 } };
  });
}

/**
 * Adds kinds to those that SERVE applies to, if the mode is still as it was read. The round
 * continues, with the evidence gathered in it. Returns false if nothing was added.
 */
export async function addServedKinds(
  catalog: Catalog,
  seen: NamespaceRecord,
  kinds: readonly string[],
): Promise<boolean> {
  let added = false;
  await updateNamespace(catalog, seen.name, (found) => {
    const { id, readMode } = requireReady(found, seen.name);
    const served = readMode.mode === "SERVE" ? readMode.kinds : null;
    const missing = kinds.filter((kind) => served?.includes(kind) === false);
    const { round, autoAdvance } = seen.readMode;
    const asSeen =
      id === seen.id && readMode.round === round && readMode.autoAdvance === autoAdvance;
    added = asSeen && missing.length > 0;
    if (!added) return undefined;
    return { ...found, readMode: { ...readMode, kinds: [...(served ?? []), ...missing] } };
  });
  return added;
}
