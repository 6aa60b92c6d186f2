/**
 * The one way a split's record changes: with it change the route that servers follow and the entry by
 * which the sweeper finds it. These are three records, and a process can stop between any two, so:
 *
 * 1. an entry for the new due time is made, and where the route changes one that is due now;
 * 2. the record is written, by compare-and-set;
 * 3. the route is published, and the change noted;
 * 4. the entries that are left over are removed.
 *
 * A process that stops before 2 has moved nothing; after 2, the entry that is due now makes the sweeper
 * publish. An entry that another process may be about to make true is never removed (see `split-work.ts`),
 * so every record is found at its due time, whatever happens to the process that wrote it.
 */
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../lib/clock.ts";
import { assert } from "../../lib/errors.ts";
import { SECOND_MICROS } from "../../model/namespace-config.ts";
import type { SliceRef } from "../../model/partition.ts";
import { routeOf } from "../../model/split.ts";
import type { SplitRecord } from "../../model/split.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { publishRoute, removeRoute } from "../../records/route-records.ts";
import { readSlice } from "../../records/slice-records.ts";
import { noteChange } from "../../records/split-changes.ts";
import { readSplit, removeLateSplits, writeSplit } from "../../records/split-records.ts";
import { putDue, readDue, removeDue } from "../../records/split-work.ts";
import type { DueEntry, DueKey } from "../../records/split-work.ts";

/** A process that takes longer from an entry to its record has most likely died; if not, it is overtaken. */
const PENDING_MICROS = 60 * SECOND_MICROS;

/**
 * Moves a split from the record as it was read (undefined: there was none) to another. Undefined, and
 * nothing moved, if another process was faster. If it rejects it may have been moved or not.
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
  const now = clock.nowMicros();
  const { partition, namespace } = next;
  const guard: DueKey = { partition, dueAt: now === dueAt ? now + 1 : now };
  const made: DueEntry[] = [];
  if (publishes) {
    const entry = await putDue(catalog, { ...guard, namespace, from, publishes });
    if (entry === undefined) return undefined;
    made.push(entry);
  }
  if (dueAt !== null && dueAt !== before?.dueAt) {
    const entry = await putDue(catalog, { partition, dueAt, namespace, from, publishes: false });
    if (entry === undefined) return undefined;
    made.push(entry);
  }
  const written = await writeSplit(catalog, next);
  if (written === undefined) {
    await takeBack(catalog, made);
    return undefined;
  }
  if (publishes) {
    await publish(catalog, clock, written);
    await removeLeftOver(catalog, clock, guard, written);
  }
  const wasDueAt = before?.dueAt ?? null;
  if (wasDueAt !== null && wasDueAt !== dueAt) {
    await removeLeftOver(catalog, clock, { partition, dueAt: wasDueAt }, written);
  }
  return written;
}

/**
 * For a sweeper that has found an entry: the record, if it is due. Undefined if it is not, or not at that
 * time; then what a crash may have left undone is done, and the entry removed where nobody can need it.
 */
export async function settleDue(
  catalog: Catalog,
  clock: Clock,
  due: DueKey,
): Promise<SplitRecord | undefined> {
  // In this order: who writes the entry after we have read it makes it another, which we do not remove.
  const entry = await readDue(catalog, due);
  const record = await readSplit(catalog, due.partition);
  if (record === undefined) {
    if (entry === undefined || !(await isGone(catalog, entry))) return undefined;
    await removeRoute(catalog, due.partition);
    await removeDue(catalog, entry);
    return undefined;
  }
  if (record.dueAt === due.dueAt) {
    if (entry?.publishes === true) await publish(catalog, clock, record);
    return record;
  }
  if (entry === undefined) return undefined;
  if (entry.from < record.version) {
    await settle(catalog, clock, entry, record);
  } else if (due.dueAt + PENDING_MICROS <= clock.nowMicros()) {
    // The same record under a new version: now the move that it waits for cannot come any more.
    const touched = await writeSplit(catalog, record);
    if (touched !== undefined) await settle(catalog, clock, entry, touched);
  }
  return undefined;
}

/**
 * For a split whose slice or namespace is not there: once the slice is dropped for good, removes all that is
 * left of the split. A late process made it after those of the slice had been removed.
 */
export async function removeIfGone(
  catalog: Catalog,
  clock: Clock,
  { partition, dueAt }: SplitRecord,
): Promise<void> {
  if (!(await isSliceGone(catalog, partition))) return;
  await removeLateSplits(catalog, partition);
  if (dueAt !== null) await settleDue(catalog, clock, { partition, dueAt });
}

/** A record that was there has gone with its slice; one that was about to be made may still come. */
async function isGone(catalog: Catalog, { from, partition }: DueEntry): Promise<boolean> {
  return from > 0 || (await isSliceGone(catalog, partition));
}

async function isSliceGone(
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
  if (entry.publishes) await publish(catalog, clock, record);
  await removeDue(catalog, entry);
}

async function removeLeftOver(
  catalog: Catalog,
  clock: Clock,
  location: DueKey,
  written: SplitRecord,
): Promise<void> {
  const entry = await readDue(catalog, location);
  // Another process may be about to move on from what we have written, back to this time.
  if (entry === undefined || entry.from >= written.version) return;
  await settle(catalog, clock, entry, written);
}

/** Of a move that was overtaken. What stays is settled by the sweeper. */
async function takeBack(catalog: Catalog, made: readonly DueEntry[]): Promise<void> {
  for (const entry of made) {
    try {
      const current = await readSplit(catalog, entry.partition);
      // Another may have moved it to the same time. One that tells to publish may do so for others too.
      if (current?.dueAt === entry.dueAt || entry.publishes) continue;
      await removeDue(catalog, entry);
    } catch {
      return;
    }
  }
}

async function publish(catalog: Catalog, clock: Clock, record: SplitRecord): Promise<void> {
  await publishRoute(catalog, record);
  if ((await readSplit(catalog, record.partition)) === undefined) {
    // Gone with its slice, perhaps before the route was there to be removed with it.
    await removeRoute(catalog, record.partition);
    return;
  }
  await noteChange(catalog, clock.nowMicros(), record.partition);
}

/** An empty route is the same whatever its epoch, and the same as none. */
function routeDiffers(before: SplitRecord | undefined, after: SplitRecord): boolean {
  const then = before === undefined ? undefined : routeOf(before);
  const now = routeOf(after);
  if (now.segments.length === 0) return (then?.segments.length ?? 0) > 0;
  return then?.epoch !== now.epoch || !isDeepStrictEqual(then.segments, now.segments);
}
