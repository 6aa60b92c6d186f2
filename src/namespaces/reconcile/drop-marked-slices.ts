/**
 * Removes the events of a slice that is marked as dropped, once every process has had the time to
 * see the mark (rule C18): its tables first, then the records of its splits and of its largest
 * partitions, then it updates the slice's record. Its histogram stays as long as the namespace.
 *
 * A slice may have millions of these records, and retention drops a slice of every namespace at the
 * same time. So one run drops a bounded number of slices and removes a bounded number of records;
 * the next run continues. Nobody needs the rest: no process reads or writes what belongs to a
 * dropped slice.
 */
import type { SliceRef } from "../../model/partition.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { writeSlice } from "../../records/slice-records.ts";
import type { SliceRecord } from "../../records/slice-records.ts";
import { removeSomeSplits } from "../../records/split-records.ts";
import { removeTopPartitions } from "../../records/top-partition-records.ts";
import { removeWalkPosition } from "../../records/walk-positions.ts";
import { removeWidthMap } from "../../records/width-map-records.ts";
import { dropTables } from "../make-tables.ts";
import { asOwner, observeSlices } from "./reconcile-run.ts";
import type { ReconcileRun } from "./reconcile-run.ts";

const REMOVED_AT_A_TIME = 250;

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
  if (marked.length === 0 || run.drops.slices <= 0 || run.drops.records <= 0) return;
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
    if (!isOwner() || drops.slices <= 0 || drops.records <= 0) break;
    drops.slices--;
    const ref = { namespaceId: record.id, slice: slice.name };
    await dropTables(store, ref);
    if (!(await removeSplitsWithin(drops, catalog, ref))) break;
    await removeTopPartitions(catalog, ref);
    await removeWidthMap(catalog, ref);
    await removeWalkPosition(catalog, ref);
    await writeSlice(catalog, record.id, { ...slice, storeDropped: true });
    dropped.push(slice.name);
  }
  report.dropped += dropped.length;
  observeSlices(run, record, "dropped", dropped);
}

/** Whether none is left. Namespaces that are processed at the same time share what is left. */
async function removeSplitsWithin(
  drops: ReconcileRun["drops"],
  catalog: Catalog,
  slice: SliceRef,
): Promise<boolean> {
  while (drops.records > 0) {
    const max = Math.min(drops.records, REMOVED_AT_A_TIME);
    drops.records -= max;
    const removed = await removeSomeSplits(catalog, slice, max);
    drops.records += max - removed;
    if (removed < max) return true;
  }
  return false;
}
