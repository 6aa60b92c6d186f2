/**
 * The last wall time that the installation believed (rule C25): space `service`, key
 * `believed-time`. Its owner writes it about once a minute, by compare-and-set.
 */
import { z } from "zod";
import type { Micros } from "../lib/time-units.ts";
import type { Catalog } from "../ports/catalog.ts";
import { decodeStored, encodeStored, storedObject } from "./stored-json.ts";

const SPACE = "service";
const KEY = "believed-time";

/** A step of the wall clock that was believed because the clock ran evenly afterwards. */
export interface BelievedLeap {
  /** Believed time right after it. */
  readonly at: Micros;
  readonly micros: Micros;
}

export interface StoredBelief {
  readonly micros: Micros;
  /** The newest ones, oldest first: no grace counts the time that they jumped over (rule C26). */
  readonly leaps: readonly BelievedLeap[];
  /** 0: not written yet. */
  readonly version: number;
}

/** Undefined if the store has none: it is new, or from before believed time was stored. */
export async function readBelievedTime(catalog: Catalog): Promise<StoredBelief | undefined> {
  const stored = await catalog.read(SPACE, KEY);
  if (stored === undefined) return undefined;
  return { ...decodeStored(beliefSchema, SPACE, stored), version: stored.version };
}

/** Writes over the version that was read. Returns the new one; undefined if it has changed. */
export function writeBelievedTime(
  catalog: Catalog,
  { micros, leaps, version }: StoredBelief,
): Promise<number | undefined> {
  return catalog.write(SPACE, KEY, encodeStored({ micros: Math.floor(micros), leaps }), version);
}

const beliefSchema = storedObject({
  micros: z.number().int().nonnegative(),
  leaps: z.array(storedObject({ at: z.number().int(), micros: z.number().int() })).default([]),
});
