/**
 * Changes to a namespace's slices by several processes. Any of them may stop at any point and
 * resume late.
 *
 * The slices are many records, their namespace is one. A process writes a decision on slices into
 * the namespace by compare-and-set on the version it read. So a decision that a changed
 * configuration has overtaken (a longer retention, say) changes nothing, and of two concurrent
 * decisions one counts. From then on every process that finds the decision carries it out. No
 * process makes another decision until compare-and-set has recorded that this one is done.
 *
 * A process carries a decision out in passes. Each pass reads the slices, then the namespace, which
 * must still have this decision. Then it moves the slices that are not in their target state, each
 * by compare-and-set on the version read. When a pass finds nothing left to do, the decision is
 * over. So a process that resumes after that moves nothing: each slice it saw as not done has
 * another version by now. Only what it *makes* can come too late, after the slice was dropped and
 * forgotten or the namespace deleted. It then makes one more pass, finds the decision over, and
 * removes what it made.
 */
import { ServiceError, assert } from "../lib/errors.ts";
import { forEachBounded } from "../lib/for-each-bounded.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { Storage } from "../ports/storage.ts";
import { readDeleted } from "../records/deleted-records.ts";
import {
  namespaceConflict,
  readNamespace,
  slicesBusy,
  writeNamespace,
} from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { boundedChange } from "../records/slice-change.ts";
import type { SliceChange } from "../records/slice-change.ts";
import {
  newSliceRecord,
  readSlice,
  readSlices,
  removeSlice,
  writeSlice,
} from "../records/slice-records.ts";
import type { SliceRecord } from "../records/slice-records.ts";
import { dropTables, makeTables } from "./make-tables.ts";
import type { OwnerWait, SliceOwnership } from "./slice-ownership.ts";

/** Three passes suffice without a concurrent change. */
const PASSES_MAX = 50;

export interface Changing extends Storage {
  readonly ownership: SliceOwnership;
}

/** What one process has done for a change, by slice name. */
export interface SlicesMoved {
  readonly made: string[];
  readonly opened: string[];
  readonly closed: string[];
  readonly marked: string[];
  readonly dropping: string[];
  readonly undropped: string[];
}

/**
 * Decides on slices and carries the decision out, holding the namespace's mutex. Writes `record`
 * (possibly with other changes, at the version it was read with) with the decision. Returns
 * "overtaken", and does nothing, if the namespace has changed since it was read; "busy" if another
 * process is changing its slices. Changes at most CHANGE_SLICES_MAX slices: a caller that wants
 * more repeats the call.
 */
export async function changeSlices(
  changing: Changing,
  record: NamespaceRecord,
  due: Partial<SliceChange>,
  wait: OwnerWait,
): Promise<SlicesMoved | "overtaken" | "busy"> {
  assert(record.changing === null, "nobody decides on slices while a decision is carried out");
  return changing.ownership.own(record.id, wait, async (isOwner) => {
    const decided = { ...record, changing: boundedChange(due) };
    const announced = await writeNamespace(changing.catalog, decided);
    return announced === undefined ? "overtaken" : carryOut(changing, announced, isOwner);
  });
}

/**
 * Carries out the decision in `record` unless it is already over; holding the namespace's mutex.
 */
export function finishChange(
  changing: Changing,
  record: NamespaceRecord,
  wait: OwnerWait,
): Promise<SlicesMoved | "busy"> {
  return changing.ownership.own(record.id, wait, (isOwner) => carryOut(changing, record, isOwner));
}

/**
 * For a namespace that is being created: no other process decides on its slices or sees them, so
 * they are listed as open at once. A process that does this too late removes all it has made.
 */
export async function makeFirstSlices(
  { catalog, store }: Storage,
  creating: NamespaceRecord,
  planned: readonly TimeSlice[],
  isOwner: () => boolean,
): Promise<void> {
  const namespaceId = creating.id;
  const slices = planned.map(newSliceRecord);
  await forEachBounded(slices, (slice) => writeSlice(catalog, namespaceId, slice));
  await forEachBounded(slices, async (slice) => {
    requireOwner(isOwner, creating);
    await makeTables(store, namespaceId, slice);
  });
}

/** A process that is no longer the owner, or that must stop, leaves the rest to other processes. */
export function requireOwner(isOwner: () => boolean, { name }: NamespaceRecord): void {
  if (!isOwner()) throw slicesBusy(name);
}

/** The decision that one process carries out, and what it has made in the catalog and the store. */
interface Work extends Storage {
  readonly record: NamespaceRecord;
  readonly change: SliceChange;
  readonly isOwner: () => boolean;
  readonly moved: SlicesMoved;
  readonly listed: Map<string, SliceRecord>;
  readonly created: Set<string>;
}

async function carryOut(
  { catalog, store }: Storage,
  record: NamespaceRecord,
  isOwner: () => boolean,
): Promise<SlicesMoved> {
  const moved: SlicesMoved = {
    made: [],
    opened: [],
    closed: [],
    marked: [],
    dropping: [],
    undropped: [],
  };
  const change = record.changing;
  if (change === null) return moved;
  const made = { listed: new Map<string, SliceRecord>(), created: new Set<string>() };
  const work: Work = { catalog, store, record, change, isOwner, moved, ...made };
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    const steps = stepsLeft(change, await readSlices(catalog, record.id));
    // Read after the slices: this decision is about the slices as they were then.
    const current = await readNamespace(catalog, record.name);
    if (current === undefined || isOver(current, record)) {
      await takeBack(work);
      return moved;
    }
    // The answer is from before the decision: nothing may depend on it.
    if (current.changing === null) throw namespaceConflict(record.name);
    if (steps.count === 0) {
      if (await endChange(catalog, current)) return moved;
      continue;
    }
    // Only after a pass: the process must first remove what it made too late.
    requireOwner(isOwner, record);
    await takeSteps(work, steps);
  }
  throw namespaceConflict(record.name);
}

/** Each decision that ends raises `slicesChange`, so no two of a namespace have the same value. */
function isOver(current: NamespaceRecord, record: NamespaceRecord): boolean {
  return (
    current.id !== record.id ||
    current.phase !== "READY" ||
    current.slicesChange > record.slicesChange
  );
}

/** False if another process has changed the namespace; the caller then reads again. */
async function endChange(catalog: Catalog, current: NamespaceRecord): Promise<boolean> {
  const slicesChange = current.slicesChange + 1;
  return (
    (await writeNamespace(catalog, { ...current, changing: null, slicesChange })) !== undefined
  );
}

interface Steps {
  readonly list: readonly TimeSlice[];
  readonly open: readonly SliceRecord[];
  readonly close: readonly SliceRecord[];
  readonly mark: readonly SliceRecord[];
  readonly dropping: readonly SliceRecord[];
  readonly undrop: readonly SliceRecord[];
  readonly count: number;
}

/** A dropped slice stays dropped, and a slice that is no longer there was dropped and forgotten. */
function stepsLeft(
  { make, open, close, drop, dropping, undrop }: SliceChange,
  slices: readonly SliceRecord[],
): Steps {
  const byName = new Map(slices.map((slice) => [slice.name, slice]));
  const those = (names: readonly string[], states: readonly TimeSlice["state"][]): SliceRecord[] =>
    names.flatMap((name) => {
      const slice = byName.get(name);
      return slice !== undefined && states.includes(slice.state) ? [slice] : [];
    });
  const steps = {
    list: make.filter(({ name }) => !byName.has(name)),
    open: those([...make.map(({ name }) => name), ...open], ["CLOSED"]),
    close: those(close, ["OPEN"]),
    mark: those(drop, ["OPEN", "CLOSED", "DROPPING"]),
    dropping: those(dropping, ["OPEN", "CLOSED"]),
    undrop: those(undrop, ["DROPPING"]),
  };
  const count = Object.values(steps).reduce((sum, left) => sum + left.length, 0);
  return { ...steps, count };
}

/**
 * If another process was faster, the slice stays as it is. A process that is no longer the owner,
 * or that must stop, leaves the rest: the next pass finds it.
 */
async function takeSteps(work: Work, steps: Steps): Promise<void> {
  const { catalog, record, change, moved, listed, isOwner } = work;
  for (const slice of steps.list) {
    if (!isOwner()) return;
    // The slice stays closed until the store has created it. So a process that sees an open slice
    // can write to it, and the store holds no slice that is not listed.
    const closed = newSliceRecord({ ...slice, state: "CLOSED" });
    const written = await writeSlice(catalog, record.id, closed);
    if (written === undefined) return;
    listed.set(slice.name, written);
  }
  // Opened after another pass, because the store has no compare-and-set; and before others are
  // closed.
  if (steps.list.length > 0) return;
  await forEachBounded(steps.open, (slice) => openSlice(work, slice));
  for (const slice of steps.close) {
    if (!isOwner()) return;
    const written = await writeSlice(catalog, record.id, { ...slice, state: "CLOSED" });
    if (written !== undefined) moved.closed.push(slice.name);
  }
  for (const slice of steps.undrop) {
    if (!isOwner()) return;
    const kept = {
      ...slice,
      state: "CLOSED",
      droppingSince: 0,
      keptUntil: change.keepUntil,
    } as const;
    const written = await writeSlice(catalog, record.id, kept);
    if (written !== undefined) moved.undropped.push(slice.name);
  }
  for (const slice of steps.dropping) {
    if (!isOwner()) return;
    const marked = { ...slice, state: "DROPPING", droppingSince: change.at } as const;
    const written = await writeSlice(catalog, record.id, marked);
    if (written !== undefined) moved.dropping.push(slice.name);
  }
  for (const slice of steps.mark) {
    if (!isOwner()) return;
    const written = await writeSlice(catalog, record.id, { ...slice, state: "DROPPED" });
    if (written !== undefined) moved.marked.push(slice.name);
  }
}

async function openSlice(work: Work, slice: SliceRecord): Promise<void> {
  const { catalog, store, record, change, isOwner, moved, created } = work;
  if (!isOwner()) return;
  created.add(slice.name);
  let state: TimeSlice["state"] = "OPEN";
  try {
    await makeTables(store, record.id, slice);
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === "CONFLICT")) throw error;
    // The store has dropped it and never makes it again, so neither the decision nor time waits for
    // it.
    state = "DROPPED";
  }
  if ((await writeSlice(catalog, record.id, { ...slice, state })) === undefined) return;
  const isNew = change.make.some(({ name }) => name === slice.name);
  if (state === "DROPPED") moved.marked.push(slice.name);
  else (isNew ? moved.made : moved.opened).push(slice.name);
}

/**
 * The decision is over. A slice that this process listed and that no process has changed since was
 * listed too late, or the namespace is being deleted. A slice of the decision that is not listed
 * was dropped and forgotten: it is never made again and must not exist in the store.
 */
async function takeBack({ catalog, store, record, listed, created }: Work): Promise<void> {
  const namespaceId = record.id;
  for (const slice of listed.values()) await removeSlice(catalog, namespaceId, slice);
  for (const name of created) {
    const there = await readSlice(catalog, namespaceId, name);
    if (there === undefined) await dropTables(store, { namespaceId, slice: name });
  }
  if (created.size > 0) await removeIfDeleted({ catalog, store }, record);
}

/** For a process that has made a table of a namespace that may have been removed meanwhile. */
export async function removeIfDeleted(
  { catalog, store }: Storage,
  { id, name }: Pick<NamespaceRecord, "id" | "name">,
): Promise<void> {
  const current = await readNamespace(catalog, name);
  if (current?.id === id) return;
  // Read after the namespace: a deletion writes this record before it frees the name.
  const deleted = await readDeleted(catalog, id);
  if (deleted === undefined) await store.dropNamespace(id);
}
