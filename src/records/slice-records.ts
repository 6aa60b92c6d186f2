/**
 * The slices of a namespace in the catalog: space `slices/<namespace id>`, key = the slice's name.
 */
import { z } from "zod";
import type { TimeSlice } from "../model/time-slice.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { sliceFields } from "./slice-change.ts";
import { decodeStored, encodeStored, listAll, storedObject } from "./stored-json.ts";

export interface SliceRecord extends TimeSlice {
  /**
   * Of a DROPPED slice: the store has removed it. Until then the mark is still spreading to all
   * processes (rule C18).
   */
  readonly storeDropped: boolean;
  /** Of a DROPPING one: believed time when it was marked; else 0. */
  readonly droppingSince: number;
  /** An operator took it back: retention leaves it alone until this believed time. */
  readonly keptUntil: number;
  /**
   * NONE until the first split of the slice is planned (rule C18). Versions of Braid that do not
   * write this field made the table with the slice.
   */
  readonly splitTable: "NONE" | "MADE";
  /** 0: not written yet. */
  readonly version: number;
}

/** All slices that ever existed, in any state, by start. */
export async function readSlices(catalog: Catalog, namespaceId: string): Promise<SliceRecord[]> {
  const space = slicesSpace(namespaceId);
  const slices: SliceRecord[] = [];
  for await (const stored of listAll(catalog, space)) {
    slices.push(decode(space, stored));
  }
  return slices.sort((a, b) => a.start - b.start);
}

export async function readSlice(
  catalog: Catalog,
  namespaceId: string,
  name: string,
): Promise<SliceRecord | undefined> {
  const space = slicesSpace(namespaceId);
  const stored = await catalog.read(space, name);
  return stored === undefined ? undefined : decode(space, stored);
}

/** Writes over the version it was read with. Undefined if it has changed meanwhile. */
export async function writeSlice(
  catalog: Catalog,
  namespaceId: string,
  slice: SliceRecord,
): Promise<SliceRecord | undefined> {
  const { name, version, ...stored } = slice;
  const space = slicesSpace(namespaceId);
  const written = await catalog.write(space, name, encodeStored(stored), version);
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
  return {
    ...slice,
    storeDropped: false,
    droppingSince: 0,
    keptUntil: 0,
    splitTable: "NONE",
    version: 0,
  };
}

function slicesSpace(namespaceId: string): string {
  return `slices/${namespaceId}`;
}

const sliceSchema: z.ZodType<Omit<SliceRecord, "name" | "version">> = storedObject({
  ...sliceFields,
  storeDropped: z.boolean(),
  droppingSince: z.number().int().default(0),
  keptUntil: z.number().int().default(0),
  splitTable: z.enum(["NONE", "MADE"]).default("MADE"),
});

function decode(space: string, stored: CatalogRecord): SliceRecord {
  const fields = decodeStored(sliceSchema, space, stored);
  return { ...fields, name: stored.key, version: stored.version };
}
