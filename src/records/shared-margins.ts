/**
 * The margins that every process of an installation relies on the others to keep: space `service`,
 * key `margins`. In milliseconds, by the names of their settings.
 */
import { z } from "zod";
import type { TimeMargins } from "../model/time-margins.ts";
import type { Catalog } from "../ports/catalog.ts";
import { decodeStored, encodeStored, storedObject } from "./stored-json.ts";

const SPACE = "service";
const KEY = "margins";

export const SHARED_MARGINS = ["view_max_age", "clock_skew", "write_max", "pause_max"] as const;
export type SharedMargins = Readonly<Record<(typeof SHARED_MARGINS)[number], number>>;

export interface StoredMargins {
  readonly margins: SharedMargins;
  /** How many processes have started with them. */
  readonly starts: number;
  /** 0: not written yet. */
  readonly version: number;
}

export function sharedMarginsOf(margins: TimeMargins): SharedMargins {
  return {
    view_max_age: margins.viewMaxAge.ms,
    clock_skew: margins.clockSkew.ms,
    write_max: margins.writeMax.ms,
    pause_max: margins.pauseMax.ms,
  };
}

/** Undefined before any process has stored its own. */
export async function readSharedMargins(catalog: Catalog): Promise<StoredMargins | undefined> {
  const stored = await catalog.read(SPACE, KEY);
  if (stored === undefined) return undefined;
  return { ...decodeStored(storedSchema, SPACE, stored), version: stored.version };
}

/** Writes over the version that was read. False if it has changed. */
export async function writeSharedMargins(
  catalog: Catalog,
  { version, ...fields }: StoredMargins,
): Promise<boolean> {
  return (await catalog.write(SPACE, KEY, encodeStored(fields), version)) !== undefined;
}

const millis = z.number().nonnegative();
const storedSchema = storedObject({
  margins: storedObject({
    view_max_age: millis,
    clock_skew: millis,
    write_max: millis,
    pause_max: millis,
  }),
  starts: z.number().int().nonnegative(),
});
