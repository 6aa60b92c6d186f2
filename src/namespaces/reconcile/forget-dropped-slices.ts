/** Removes the records of all but the newest slices that were dropped. */
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { removeSlice } from "../../records/slice-records.ts";
import type { SliceRecord } from "../../records/slice-records.ts";
import type { ReconcileRun } from "./reconcile-run.ts";

/**
 * `keptMax` are kept, for people to see, and at least one: it keeps dropped time from being made
 * again.
 */
export async function forgetDroppedSlices(
  { catalog, knownSlices }: ReconcileRun,
  record: NamespaceRecord,
  slices: readonly SliceRecord[],
  keptMax: number,
): Promise<void> {
  const dropped = slices.filter(({ storeDropped }) => storeDropped);
  const forgotten = dropped.slice(0, Math.max(0, dropped.length - Math.max(1, keptMax)));
  for (const slice of forgotten) {
    knownSlices.forget(record);
    await removeSlice(catalog, record.id, slice);
  }
}
