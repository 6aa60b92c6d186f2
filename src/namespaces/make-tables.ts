/**
 * The tables of a slice: its own, and one for the parts of its splits. Most slices have no wide
 * partition, so the second table is made when the first split of the slice is planned
 * (`make-split-table.ts`).
 */
import type { SliceRef } from "../model/partition.ts";
import { splitTableOf } from "../model/split.ts";
import type { EventStore } from "../ports/event-store.ts";
import type { SliceRecord } from "../records/slice-records.ts";

/**
 * Makes the tables that the slice's record says it has. Safe to repeat. CONFLICT if one was dropped:
 * then the slice is never made again.
 */
export async function makeTables(
  store: EventStore,
  namespaceId: string,
  { name, splitTable }: Pick<SliceRecord, "name" | "splitTable">,
): Promise<void> {
  const slice = { namespaceId, slice: name };
  if (splitTable === "MADE") await store.createSlice(splitTableOf(slice));
  await store.createSlice(slice);
}

/**
 * Also registers a split table as dropped that was never made, so that a process that makes it late
 * is refused (rule C18). Safe to repeat.
 */
export async function dropTables(store: EventStore, slice: SliceRef): Promise<void> {
  await store.dropSlice(splitTableOf(slice));
  await store.dropSlice(slice);
}
