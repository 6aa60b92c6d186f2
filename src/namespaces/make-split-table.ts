/**
 * Makes the table for the parts of a slice's splits, when a worker has planned the first split of
 * the slice (rule C18). No request waits for it: the split does.
 *
 * The worker becomes the owner of the namespace's slices for this, as a use case does, so at most
 * one process makes or drops tables of a namespace. A process that stops half way leaves a table
 * that the slice's record does not have yet: the next worker makes it again, which changes nothing,
 * and dropping the slice drops it in any case.
 */
import { compareAndSet, LOST } from "../lib/compare-and-set.ts";
import { ServiceError } from "../lib/errors.ts";
import { splitTableOf } from "../model/split.ts";
import { slicesBusy } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { readSlice, writeSlice } from "../records/slice-records.ts";
import type { SliceRecord } from "../records/slice-records.ts";
import { removeIfDeleted } from "./change-slices.ts";
import type { Changing } from "./change-slices.ts";
import { OWNER_WAIT_MS } from "./slice-ownership.ts";

/**
 * "gone": the slice is dropped, and its split table is never made. CONFLICT while another process
 * changes the namespace's slices for long, or while the slice is DROPPING.
 */
export type SplitTable = "made" | "gone";

export async function makeSplitTable(
  changing: Changing,
  namespace: Pick<NamespaceRecord, "id" | "name">,
  slice: string,
  signal: AbortSignal,
): Promise<SplitTable> {
  const { id, name } = namespace;
  const now = stateOf(await readSlice(changing.catalog, id, slice));
  if (now !== "none") return now;
  const { ownership } = changing;
  const made = await ownership.take(name, () =>
    ownership.own(id, { waitMs: OWNER_WAIT_MS, signal }, async (isOwner) =>
      isOwner() ? make(changing, namespace, slice) : "busy",
    ),
  );
  if (made === "busy") throw slicesBusy(name);
  return made;
}

async function make(
  { catalog, store }: Changing,
  namespace: Pick<NamespaceRecord, "id" | "name">,
  slice: string,
): Promise<SplitTable> {
  const namespaceId = namespace.id;
  const table = splitTableOf({ namespaceId, slice });
  try {
    await store.createSlice(table);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "CONFLICT") return "gone";
    throw error;
  }
  const message = `slice ${slice} changes again and again`;
  const recorded = await compareAndSet({ message }, async () => {
    const stored = await readSlice(catalog, namespaceId, slice);
    const now = stateOf(stored);
    if (stored === undefined || now !== "none") return now === "none" ? "gone" : now;
    const written = await writeSlice(catalog, namespaceId, { ...stored, splitTable: "MADE" });
    return written === undefined ? LOST : "made";
  });
  if (recorded === "gone") {
    // Dropped while the table was being made: nothing may stay behind.
    await store.dropSlice(table);
    await removeIfDeleted({ catalog, store }, namespace);
  }
  return recorded;
}

function stateOf(slice: SliceRecord | undefined): SplitTable | "none" {
  if (slice === undefined || slice.state === "DROPPED") return "gone";
  if (slice.splitTable === "MADE") return "made";
  if (slice.state !== "DROPPING") return "none";
  throw new ServiceError("CONFLICT", `slice ${slice.name} is about to be dropped`, {
    details: { slice: slice.name },
  });
}
