/**
 * The tables of a slice: its own, and the one its wide partitions are split into, which is made
 * before it and dropped before it (rule C18). So no split ever waits for a table, and none is left
 * behind.
 */
import type { SliceRef } from "../model/partition.ts";
import { splitTableOf } from "../model/split.ts";
import type { EventStore } from "../ports/event-store.ts";

/** Safe to repeat. CONFLICT if either was dropped: then the slice is never made again. */
export async function makeTables(store: EventStore, slice: SliceRef): Promise<void> {
  await store.createSlice(splitTableOf(slice));
  await store.createSlice(slice);
}

/** Safe to repeat. */
export async function dropTables(store: EventStore, slice: SliceRef): Promise<void> {
  await store.dropSlice(splitTableOf(slice));
  await store.dropSlice(slice);
}
