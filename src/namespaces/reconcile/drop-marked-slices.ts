/**
 * Removes the events of a slice that is marked as dropped, once every process has had the time to
 * see the mark (rule C18): its tables, then it updates the slice's record. Its histogram stays as
 * long as the namespace.
 *
 * A slice may have millions of records of splits. They are only noted here, with a constant number
 * of calls; `background-removal.ts` removes them. Nobody needs them: no process reads or writes what
 * belongs to a dropped slice. Retention drops a slice of every namespace at the same time, so one
 * run drops a bounded number of slices, and the next run continues.
 */
import { noteDroppedSlice } from "../../records/dropped-slices.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { writeSlice } from "../../records/slice-records.ts";
import type { SliceRecord } from "../../records/slice-records.ts";
import { dropTables } from "../make-tables.ts";
import { asOwner, observeSlices } from "./reconcile-run.ts";
import type { ReconcileRun } from "./reconcile-run.ts";

/**
 * The slices whose mark this process has seen for `view_max_age`: by now every process has seen it.
 */
export function markedLongAgo(
  run: ReconcileRun,
  record: NamespaceRecord,
  slices: readonly SliceRecord[],
): SliceRecord[] {
  const marked = slices.filter(({ state, storeDropped }) => state === "DROPPED" && !storeDropped);
  return marked.filter(({ name }) => seeMark(run, record, name) >= run.margins.viewMaxAge.ms);
}

/** Returns for how many milliseconds this process has seen the mark. */
export function seeMark(
  { sightings }: ReconcileRun,
  { id }: NamespaceRecord,
  slice: string,
): number {
  return sightings.seenForMs(`mark/${id}/${slice}`);
}

export async function dropMarkedSlices(
  run: ReconcileRun,
  record: NamespaceRecord,
  marked: readonly SliceRecord[],
): Promise<void> {
  if (marked.length === 0 || run.drops.slices <= 0) return;
  await asOwner(run, record, (isOwner) => dropAll(run, record, marked, isOwner));
}

async function dropAll(
  run: ReconcileRun,
  record: NamespaceRecord,
  marked: readonly SliceRecord[],
  isOwner: () => boolean,
): Promise<void> {
  const { catalog, store, knownSlices, report, drops } = run;
  knownSlices.forget(record);
  const dropped: string[] = [];
  for (const slice of marked) {
    if (!isOwner() || drops.slices <= 0) break;
    drops.slices--;
    const ref = { namespaceId: record.id, slice: slice.name };
    await dropTables(store, ref);
    await noteDroppedSlice(catalog, ref);
    await writeSlice(catalog, record.id, { ...slice, storeDropped: true });
    dropped.push(slice.name);
  }
  report.dropped += dropped.length;
  observeSlices(run, record, "dropped", dropped);
}
