/**
 * The slices of a namespace as the catalog holds them: space `slices/<namespace id>`, key = the
 * slice's name.
 */
import { z } from "zod";
import type { TimeSlice } from "../model/time-slice.ts";
import type { Catalog } from "../ports/catalog.ts";
import { timePartitionSchema } from "./namespace-records.ts";
import { decodeStored, listAll } from "./stored-json.ts";

export interface SliceRecord extends TimeSlice {
  /**
   * Of a DROPPED one: the store has let go of it. Until then the mark is still on its way to
   * everyone (rule C18).
   */
  readonly storeDropped: boolean;
  /** 0: not written yet. */
  readonly version: number;
}

/** All slices there ever were, in any state, by start. */
export async function readSlices(catalog: Catalog, namespaceId: string): Promise<SliceRecord[]> {
  const space = slicesSpace(namespaceId);
  const slices: SliceRecord[] = [];
  for await (const stored of listAll(catalog, space)) {
    const decoded = decodeStored(sliceSchema, space, stored);
    slices.push({ ...decoded, name: stored.key, version: stored.version });
  }
  return slices.sort((a, b) => a.start - b.start);
}

/** Writes over the version it was read with. Undefined if it has changed meanwhile. */
export async function writeSlice(
  catalog: Catalog,
  namespaceId: string,
  slice: SliceRecord,
): Promise<SliceRecord | undefined> {
  const { name, version, ...stored } = slice;
  const space = slicesSpace(namespaceId);
  const written = await catalog.write(space, name, JSON.stringify(stored), version);
  return written === undefined ? undefined : { ...slice, version: written };
}

export function removeSlice(
  catalog: Catalog,
  namespaceId: string,
  slice: SliceRecord,
): Promise<boolean> {
  return catalog.remove(slicesSpace(namespaceId), slice.name, slice.version);
}

export function newSliceRecord(slice: TimeSlice): SliceRecord {
  return { ...slice, storeDropped: false, version: 0 };
}

function slicesSpace(namespaceId: string): string {
  return `slices/${namespaceId}`;
}

const sliceSchema: z.ZodType<Omit<SliceRecord, "name" | "version">> = z.strictObject({
  start: z.number().int(),
  end: z.number().int(),
  timePartition: timePartitionSchema,
  state: z.enum(["OPEN", "CLOSED", "DROPPED"]),
  storeDropped: z.boolean(),
});
