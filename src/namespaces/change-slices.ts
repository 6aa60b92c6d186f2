/**
 * Changes to a namespace's slices, by several processes, any of which may stop anywhere and wake
 * late.
 *
 * The slices are many records, their namespace is one. A decision on slices is written into the
 * namespace by compare-and-set on the version it was made with: so one that a changed configuration
 * has overtaken (a longer retention, say) changes nothing, and of two made at once one counts. From
 * then on every process that finds it carries it out. No process makes another decision until
 * compare-and-set has recorded that this one is done.
 *
 * Carrying it out is a row of looks: the slices are read, then the namespace, which must still have
 * this decision, then the slices that are not where they should be are moved, each by
 * compare-and-set on the version read. When a look finds nothing left to do, the decision is over.
 * So a process that wakes after that moves nothing: what it saw as not done yet has another version
 * by now. Only what it *makes* it may make too late, when the slice was dropped and forgotten
 * meanwhile, or the whole namespace deleted; it looks once more, finds the decision over, and takes
 * that back.
 */
import { ServiceError, assert } from "../lib/errors.ts";
import { forEachBounded } from "../lib/for-each-bounded.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { Storage } from "../ports/storage.ts";
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
import { dropTables, makeTables } from "./slice-tables.ts";
import type { OwnerWait, SliceOwnership } from "./slice-ownership.ts";

/** Three do where nobody comes between. */
const LOOKS_MAX = 50;

export interface Changing extends Storage {
  readonly ownership: SliceOwnership;
}

/** What one process has done for a change, by the names of the slices. */
export interface SlicesMoved {
  readonly made: string[];
  readonly opened: string[];
  readonly closed: string[];
  readonly marked: string[];
  readonly dropping: string[];
  readonly undropped: string[];
}

/**
 * Decides on slices and carries it out, within a turn. `record` (possibly changed otherwise, at the
 * version it was read with) is written with the decision. "overtaken", and nothing done, if the
 * namespace has changed since it was read; "busy" if another process is at its slices. At most
 * CHANGE_SLICES_MAX slices are changed: a caller that wants more repeats it.
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
 * Carries out what `record` says was decided, if that has not been done meanwhile; within a turn.
 */
export function finishChange(
  changing: Changing,
  record: NamespaceRecord,
  wait: OwnerWait,
): Promise<SlicesMoved | "busy"> {
  return changing.ownership.own(record.id, wait, (isOwner) => carryOut(changing, record, isOwner));
}

/**
 * For a namespace that is being created: nobody else decides on its slices or sees them, so they
 * are listed as open at once. A process that does this too late removes all it has made.
 */
export async function makeFirstSlices(
  { catalog, store }: Storage,
  creating: NamespaceRecord,
  planned: readonly TimeSlice[],
  isOwner: () => boolean,
): Promise<void> {
  const namespaceId = creating.id;
  await forEachBounded(planned, (slice) => writeSlice(catalog, namespaceId, newSliceRecord(slice)));
  await forEachBounded(planned, async ({ name }) => {
    requireOwner(isOwner, creating);
    await makeTables(store, { namespaceId, slice: name });
  });
}

/** A process that is no longer the owner, or that must stop, leaves the rest to others. */
export function requireOwner(isOwner: () => boolean, { name }: NamespaceRecord): void {
  if (!isOwner()) throw slicesBusy(name);
}

/** What one process is at, and what it has made for it in the catalog and in the store. */
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
  for (let look = 0; look < LOOKS_MAX; look++) {
    const steps = stepsLeft(change, await readSlices(catalog, record.id));
    // Read after the slices: what they were then is what this decision is about.
    const current = await readNamespace(catalog, record.name);
    if (current === undefined || isOver(current, record)) {
      await takeBack(work);
      return moved;
    }
    // An answer from before the decision: nothing may rest on it.
    if (current.changing === null) throw namespaceConflict(record.name);
    if (steps.count === 0) {
      if (await endChange(catalog, current)) return moved;
      continue;
    }
    // Only after a look: what was made too late had to be taken back.
    requireOwner(isOwner, record);
    await takeSteps(work, steps);
  }
  throw namespaceConflict(record.name);
}

/** Each decision that ends raises `slicesChange`, so no two of a namespace have the same. */
function isOver(current: NamespaceRecord, record: NamespaceRecord): boolean {
  return (
    current.id !== record.id ||
    current.phase !== "READY" ||
    current.slicesChange > record.slicesChange
  );
}

/** False if someone else has changed the namespace; then the caller reads again. */
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

/** What is dropped stays so, and what is not there any more was dropped and forgotten. */
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
 * or that must stop, leaves the rest: the next look finds what is left.
 */
async function takeSteps(work: Work, steps: Steps): Promise<void> {
  const { catalog, record, change, moved, listed, isOwner } = work;
  for (const slice of steps.list) {
    if (!isOwner()) return;
    // Closed until the store has room for it: so a process that sees an open slice can write to it,
    // and the store holds no slice that is not listed.
    const closed = newSliceRecord({ ...slice, state: "CLOSED" });
    const written = await writeSlice(catalog, record.id, closed);
    if (written === undefined) return;
    listed.set(slice.name, written);
  }
  // Opened after another look, because the store cannot compare and set; and before others are
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
    await makeTables(store, { namespaceId: record.id, slice: slice.name });
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === "CONFLICT")) throw error;
    // The store has dropped it and makes it never again, so neither the decision nor the time
    // waits.
    state = "DROPPED";
  }
  if ((await writeSlice(catalog, record.id, { ...slice, state })) === undefined) return;
  const isNew = change.make.some(({ name }) => name === slice.name);
  if (state === "DROPPED") moved.marked.push(slice.name);
  else (isNew ? moved.made : moved.opened).push(slice.name);
}

/**
 * The decision is over. What we have listed and nobody has touched since was listed too late, or
 * the namespace is being deleted. What of the decision is not listed was dropped and forgotten, so
 * it is never made again and has no place in the store.
 */
async function takeBack({ catalog, store, record, listed, created }: Work): Promise<void> {
  const namespaceId = record.id;
  for (const slice of listed.values()) await removeSlice(catalog, namespaceId, slice);
  for (const name of created) {
    const there = await readSlice(catalog, namespaceId, name);
    if (there === undefined) await dropTables(store, { namespaceId, slice: name });
  }
  if (created.size === 0) return;
  const current = await readNamespace(catalog, record.name);
  if (current?.id !== namespaceId) await store.dropNamespace(namespaceId);
}
