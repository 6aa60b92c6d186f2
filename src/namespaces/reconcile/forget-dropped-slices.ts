/** Removes the records of all dropped slices but the newest. */
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { removeSlice } from "../../records/slice-records.ts";
import type { SliceRecord } from "../../records/slice-records.ts";
import type { ReconcileRun } from "./reconcile-run.ts";

/**
 * Keeps `keptMax` records for operators, and at least one: it prevents dropped time from being made
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
