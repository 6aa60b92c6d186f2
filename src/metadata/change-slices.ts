/**
 * Changes to a namespace's slices, seen by every view and safe to stop anywhere.
 *
 * The slices are many records, their namespace is one. First the namespace says, by compare-and-set
 * on the version the decision was made with, that they are changing; then they change; then it says
 * that they have. So a decision that a changed configuration has overtaken (a longer retention,
 * say) changes nothing, and a crash in the middle leaves views that re-read the slices each time
 * rather than views that miss some.
 *
 * The announcement keeps nobody out: who decides on slices does so in a turn (`SliceTurns`), from
 * before the namespace is read until this is done.
 */
import { ServiceError } from "../lib/errors.ts";
import { mapBounded } from "../lib/map-bounded.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { EventStore } from "../ports/event-store.ts";
import { updateNamespace, writeNamespace } from "./namespace-records.ts";
import type { NamespaceRecord } from "./namespace-records.ts";
import { newSliceRecord, writeSlice } from "./slice-records.ts";
import type { SliceRecord } from "./slice-records.ts";

/** How many slices a store is asked to make or drop at a time. */
const AT_ONCE = 8;

export interface Storage {
  readonly catalog: Catalog;
  readonly store: EventStore;
}

/**
 * Does `work` under the announcement, with `record` (possibly changed, at the version it was read
 * with) written first. Undefined, and nothing done, if the namespace has changed since it was read.
 */
export async function changingSlices(
  catalog: Catalog,
  record: NamespaceRecord,
  work: () => Promise<void>,
): Promise<NamespaceRecord | undefined> {
  const begun = await writeNamespace(catalog, { ...record, slicesChanging: true });
  if (begun === undefined) return undefined;
  await work();
  return endSlicesChange(catalog, begun);
}

/** Says that the slices have changed. Also what is due after a crash has left them changing. */
export function endSlicesChange(
  catalog: Catalog,
  record: NamespaceRecord,
): Promise<NamespaceRecord> {
  return updateNamespace(catalog, record.name, (current) =>
    current.id !== record.id
      ? undefined
      : { ...current, slicesChanging: false, slicesChange: current.slicesChange + 1 },
  );
}

/**
 * Lists the slices, in the order given, and then opens them. Until the store has room for one it is
 * listed as CLOSED: so whoever sees an open one can write to it, and a crash leaves nothing in the
 * store that is not listed.
 */
export async function makeSlices(
  storage: Storage,
  namespaceId: string,
  planned: readonly TimeSlice[],
): Promise<void> {
  const listed: SliceRecord[] = [];
  for (const slice of planned) {
    listed.push(await listSlice(storage.catalog, namespaceId, { ...slice, state: "CLOSED" }));
  }
  await openSlices(storage, namespaceId, listed);
}

/**
 * Makes room in the store, which does nothing where there is room already, and opens them. Gives
 * those that were changed.
 */
export async function openSlices(
  { catalog, store }: Storage,
  namespaceId: string,
  closed: readonly SliceRecord[],
): Promise<SliceRecord[]> {
  await forEachBounded(closed, ({ name }) => store.createSlice({ namespaceId, slice: name }));
  return moveSlices(catalog, namespaceId, closed, "OPEN");
}

/** For a namespace nobody sees yet: they may be listed as open at once. */
export async function makeFirstSlices(
  { catalog, store }: Storage,
  namespaceId: string,
  planned: readonly TimeSlice[],
): Promise<void> {
  await forEachBounded(planned, (slice) => listSlice(catalog, namespaceId, slice));
  await forEachBounded(planned, (slice) => store.createSlice({ namespaceId, slice: slice.name }));
}

/**
 * Writes slices in another state. One that someone else has changed is left as it is now. Gives
 * those that were changed.
 */
export async function moveSlices(
  catalog: Catalog,
  namespaceId: string,
  slices: readonly SliceRecord[],
  state: TimeSlice["state"],
): Promise<SliceRecord[]> {
  const moved: SliceRecord[] = [];
  for (const slice of slices) {
    const written = await writeSlice(catalog, namespaceId, { ...slice, state });
    if (written !== undefined) moved.push(written);
  }
  return moved;
}

export async function forEachBounded<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const never = new AbortController().signal;
  const results = mapBounded(
    items,
    () => AT_ONCE,
    never,
    (item) => work(item),
  );
  for await (const _ of results);
}

async function listSlice(
  catalog: Catalog,
  namespaceId: string,
  slice: TimeSlice,
): Promise<SliceRecord> {
  const written = await writeSlice(catalog, namespaceId, newSliceRecord(slice));
  if (written !== undefined) return written;
  throw new ServiceError(
    "CONFLICT",
    `slice ${slice.name} was made by someone else meanwhile; try again`,
    { details: { namespaceId, slice: slice.name }, retryAfterMs: 1_000 },
  );
}
