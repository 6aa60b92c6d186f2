/** Lists the slices of a namespace with their status and size, for operators. */
import { ServiceError } from "../lib/errors.ts";
import { mapBounded } from "../lib/map-bounded.ts";
import type { SliceRef } from "../model/partition.ts";
import { statusOf } from "../model/plan-slices.ts";
import type { SliceStatus } from "../model/plan-slices.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { EventStore, SliceStats } from "../ports/event-store.ts";
import { readReadyNamespace } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import type { SliceRecord } from "../records/slice-records.ts";
import { dropGraceOf } from "./due-changes.ts";
import type { NamespaceContext } from "./namespace-context.ts";

/** A slice as the API shows it. */
export interface SliceListing extends Omit<TimeSlice, "state">, SliceStats {
  readonly status: SliceStatus;
  /** Of a DROPPING slice: believed time from which it is dropped permanently. */
  readonly dropAt: number | undefined;
}

const STATS_AT_ONCE = 8;
const NO_EVENTS: SliceStats = { bytes: 0, events: 0 };

/** By start; includes dropped slices that are still recorded, and damaged ones, shown as empty. */
export async function listTimeSlices(
  { catalog, store, clock, margins }: NamespaceContext,
  name: string,
): Promise<readonly SliceListing[]> {
  const record = await readReadyNamespace(catalog, name);
  const slices = await readSlices(catalog, record.id);
  const now = clock.nowMicros();
  const describe = async (slice: SliceRecord): Promise<SliceListing> => {
    const ref = { namespaceId: record.id, slice: slice.name };
    const dropped = slice.state === "DROPPED";
    const { bytes, events } = dropped ? NO_EVENTS : await statsOf(store, ref);
    const { name: sliceName, start, end, timePartition } = slice;
    const status = statusOf(slice, record, now);
    const dropAt =
      slice.state === "DROPPING" ? slice.droppingSince + dropGraceOf(record, margins) : undefined;
    return { name: sliceName, start, end, timePartition, status, bytes, events, dropAt };
  };
  const listings: SliceListing[] = [];
  const never = new AbortController().signal;
  const described = mapBounded(slices, () => STATS_AT_ONCE, never, describe);
  for await (const listing of described) listings.push(listing);
  return listings;
}

/** A damaged slice must not hide the others: its readers get the error. */
async function statsOf(store: EventStore, slice: SliceRef): Promise<SliceStats> {
  try {
    return await store.sliceStats(slice);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "DATA_LOSS") return NO_EVENTS;
    throw error;
  }
}
