/**
 * The one way to change a split's record. Three things change together: the record, the route that
 * servers follow, and the entry by which the sweeper finds the split. A process can stop between
 * any two steps, so:
 *
 * 1. it makes an entry for the new due time and, if the route changes, a guard entry in
 *    `split-publish`;
 * 2. it writes the record, by compare-and-set;
 * 3. it publishes the route and notes the change (for a change of the state alone, that there was
 *    one: `changed-splits.ts`);
 * 4. it removes the entries that are left over.
 *
 * A process that stops before step 2 has moved nothing. After step 2 the change is done only when
 * the route is published (rule C23): an operation that finds the record already changed calls
 * `publishSplit` before it answers, and every sweep begins with the guard entries. No process
 * removes an entry that another process may be about to make true (see `split-work.ts`), so every
 * record is found at its due time, whatever happens to the process that wrote it.
 */
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../lib/clock.ts";
import { isUnreadable } from "../../lib/stored-format.ts";
import { assert } from "../../lib/errors.ts";
import { SECOND_MICROS } from "../../model/namespace-config.ts";
import type { SliceRef } from "../../model/partition.ts";
import { routeOf } from "../../model/split.ts";
import type { SplitRecord } from "../../model/split.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { markSplitsChanged } from "../../records/changed-splits.ts";
import { publishRoute, removeRoute } from "../../records/route-records.ts";
import { readSlice } from "../../records/slice-records.ts";
import { noteChange } from "../../records/split-changes.ts";
import { readSplit, removeLateSplits, writeSplit } from "../../records/split-records.ts";
import { putDue, readDue, removeDue } from "../../records/split-work.ts";
import type { DueEntry, DueKey } from "../../records/split-work.ts";

/**
 * A process that takes longer than this from an entry to its record counts as dead. If it is alive,
 * it loses.
 */
const PENDING_MICROS = 60 * SECOND_MICROS;

/**
 * Moves a split from the record as it was read (undefined: there was none) to another, and
 * publishes the route if it changes. Returns undefined, with nothing moved, if another process was
 * faster. If it rejects, the record may or may not have moved, and the route may be unpublished.
 */
export async function moveSplit(
  catalog: Catalog,
  clock: Clock,
  before: SplitRecord | undefined,
  after: SplitRecord,
): Promise<SplitRecord | undefined> {
  const moved =
    before === undefined ||
    after.state === before.state ||
    after.history.at(-1)?.to === after.state;
  assert(moved, "a split changes its state by `movedSplit`, which knows the moves there are");
  const from = before?.version ?? 0;
  const dueAt = after.dueAt === null ? null : Math.max(0, Math.floor(after.dueAt));
  const next: SplitRecord = { ...after, dueAt, version: from };
  const publishes = routeDiffers(before, next);
  const { partition, namespace } = next;
  const guard: DueKey = { index: "split-publish", partition, dueAt: clock.nowMicros() };
  const made: DueEntry[] = [];
  if (publishes) {
    const entry = await putDue(catalog, { ...guard, namespace, from });
    if (entry === undefined) return undefined;
    made.push(entry);
  }
  if (dueAt !== null && dueAt !== before?.dueAt) {
    const entry = await putDue(catalog, { index: "split-work", partition, dueAt, namespace, from });
    if (entry === undefined) return undefined;
    made.push(entry);
  }
  const written = await writeSplit(catalog, next);
  if (written === undefined) {
    await takeBack(catalog, made);
    return undefined;
  }
  if (publishes) {
    await publishSplit(catalog, clock, written);
    await removeLeftOver(catalog, clock, guard, written);
  } else if (before?.state !== written.state) {
    await markSplitsChanged(catalog, partition.namespaceId);
  }
  const wasDueAt = before?.dueAt ?? null;
  if (wasDueAt !== null && wasDueAt !== dueAt) {
    const was: DueKey = { index: "split-work", partition, dueAt: wasDueAt };
    await removeLeftOver(catalog, clock, was, written);
  }
  return written;
}

/**
 * Publishes the route of a record; safe to repeat (rule C23). An operation that finds nothing to
 * change calls it before it answers: the process that changed the record may have failed to
 * publish. It writes the route even if its content is the same, so that a process that slept since
 * an earlier version can no longer publish that one.
 */
export async function publishSplit(
  catalog: Catalog,
  clock: Clock,
  record: SplitRecord,
): Promise<void> {
  await publishRoute(catalog, record);
  if ((await readSplit(catalog, record.partition)) === undefined) {
    // The record was removed with its slice, perhaps before the route existed to be removed with
    // it.
    await removeRoute(catalog, record.partition);
    return;
  }
  await noteChange(catalog, clock.nowMicros(), record.partition);
}

/**
 * For a sweeper that has found an entry: returns the record if work on it is due. Otherwise it
 * returns undefined, finishes what a crashed process may have left undone, and removes the entry if
 * no process can need it.
 */
export async function settleDue(
  catalog: Catalog,
  clock: Clock,
  due: DueKey,
): Promise<SplitRecord | undefined> {
  // In this order: if a process writes the entry after this read, the entry has another version and
  // stays.
  const entry = await readDue(catalog, due);
  const record = await readSplit(catalog, due.partition);
  if (record === undefined) {
    if (entry === undefined || !(await isGone(catalog, entry))) return undefined;
    await removeRoute(catalog, due.partition);
    await removeDue(catalog, entry);
    return undefined;
  }
  if (due.index === "split-work" && record.dueAt === due.dueAt) return record;
  if (entry === undefined) return undefined;
  if (entry.from < record.version) {
    await settle(catalog, clock, entry, record);
  } else if (due.dueAt + PENDING_MICROS <= clock.nowMicros()) {
    // Writes the same record under a new version: the move that the entry waits for can no longer
    // succeed.
    const touched = await writeSplit(catalog, record);
    if (touched !== undefined) await settle(catalog, clock, entry, touched);
  }
  return undefined;
}

/**
 * For a split whose slice or namespace does not exist: once the slice is dropped for good, removes
 * all that is left of the split. A late process made it after the records of the slice had been
 * removed.
 */
export async function removeIfGone(
  catalog: Catalog,
  clock: Clock,
  { partition, dueAt }: SplitRecord,
): Promise<void> {
  if (!(await isSliceGone(catalog, partition))) return;
  await removeLateSplits(catalog, partition);
  if (dueAt !== null) await settleDue(catalog, clock, { index: "split-work", partition, dueAt });
}

/**
 * A record that existed was removed with its slice; one that a process was about to make may still
 * appear.
 */
async function isGone(catalog: Catalog, { from, partition }: DueEntry): Promise<boolean> {
  return from > 0 || (await isSliceGone(catalog, partition));
}

export async function isSliceGone(
  catalog: Catalog,
  { namespaceId, slice: name }: SliceRef,
): Promise<boolean> {
  const slice = await readSlice(catalog, namespaceId, name);
  return slice === undefined || slice.storeDropped;
}

async function settle(
  catalog: Catalog,
  clock: Clock,
  entry: DueEntry,
  record: SplitRecord,
): Promise<void> {
  if (entry.index === "split-publish") await publishSplit(catalog, clock, record);
  await removeDue(catalog, entry);
}

async function removeLeftOver(
  catalog: Catalog,
  clock: Clock,
  location: DueKey,
  written: SplitRecord,
): Promise<void> {
  let entry: DueEntry | undefined;
  try {
    entry = await readDue(catalog, location);
  } catch (error) {
    // The move is done. A sweep reports an entry that cannot be read (rule C28).
    if (isUnreadable(error)) return;
    throw error;
  }
  // Another process may be about to move the record just written back to this time.
  if (entry === undefined || entry.from >= written.version) return;
  await settle(catalog, clock, entry, written);
}

/** Removes the entries of a move that lost. The sweeper settles the entries that remain. */
async function takeBack(catalog: Catalog, made: readonly DueEntry[]): Promise<void> {
  for (const entry of made) {
    // Another process may rely on the same guard entry.
    if (entry.index === "split-publish") continue;
    try {
      const current = await readSplit(catalog, entry.partition);
      // Another process may have moved the split to the same time.
      if (current?.dueAt === entry.dueAt) continue;
      await removeDue(catalog, entry);
    } catch {
      // A sweep removes the entries that remain.
      return;
    }
  }
}

/** All empty routes are equal, and equal to no route. */
function routeDiffers(before: SplitRecord | undefined, after: SplitRecord): boolean {
  const then = before === undefined ? undefined : routeOf(before);
  const now = routeOf(after);
  return !isDeepStrictEqual(then?.segments ?? [], now.segments);
}
