/**
 * Dropped slices and removed namespaces whose records are still to be removed: space
 * `dropped-slices`, key = namespace id and slice; an empty slice stands for what the namespace has
 * beside its slices.
 *
 * A slice may have millions of records. Nobody waits for their removal: from the moment a slice is
 * DROPPED no process reads or writes what belongs to it. One listing shows all that is left, also to
 * a process that starts later.
 */
import type { SliceRef } from "../model/partition.ts";
import type { Catalog } from "../ports/catalog.ts";
import { removeChanges } from "./split-changes.ts";
import { removeSplits, removeSplitsNote } from "./split-records.ts";
import { encodeStored } from "./stored-json.ts";
import { removeTopPartitions } from "./top-partition-records.ts";
import { removeWalkPosition } from "./walk-positions.ts";
import { removeWidthMap } from "./width-map-records.ts";

const SPACE = "dropped-slices";
const PAGE = 500;

/** Three calls, however many records there are. Safe to repeat. */
export async function noteDroppedSlice(catalog: Catalog, slice: SliceRef): Promise<void> {
  await catalog.write(SPACE, keyOf(slice), encodeStored({}), 0);
  // From here on no listing shows the splits of the slice.
  await removeSplitsNote(catalog, slice);
}

/** For a namespace whose slices are all noted. */
export async function noteRemovedNamespace(catalog: Catalog, namespaceId: string): Promise<void> {
  await catalog.write(SPACE, keyOf({ namespaceId, slice: "" }), encodeStored({}), 0);
}

/**
 * Removes the records of everything that is noted, by compare-and-set, a few at a time. It may stop
 * anywhere: what is left is still noted.
 */
export async function removeDroppedRecords(
  catalog: Catalog,
  continues: () => boolean,
): Promise<void> {
  for (let after = ""; ;) {
    const page = await catalog.list(SPACE, after, PAGE);
    for (const { key, version } of page) {
      after = key;
      if (!(await removeRecords(catalog, refOf(key), continues))) return;
      await catalog.remove(SPACE, key, version);
    }
    if (page.length < PAGE) return;
  }
}

/** Whether none is left. */
async function removeRecords(
  catalog: Catalog,
  slice: SliceRef,
  continues: () => boolean,
): Promise<boolean> {
  if (slice.slice === "") return removeChanges(catalog, slice.namespaceId, continues);
  if (!(await removeSplits(catalog, slice, continues))) return false;
  await removeTopPartitions(catalog, slice);
  await removeWidthMap(catalog, slice);
  await removeWalkPosition(catalog, slice);
  return true;
}

/** Neither ids of namespaces nor names of slices contain a bar. */
function keyOf({ namespaceId, slice }: SliceRef): string {
  return `${namespaceId}|${slice}`;
}

function refOf(key: string): SliceRef {
  const bar = key.indexOf("|");
  return { namespaceId: key.slice(0, bar), slice: key.slice(bar + 1) };
}
