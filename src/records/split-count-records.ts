/**
 * How many splits are in each state, as last counted: space `service`, key `split-counts`.
 *
 * One process counts for all, and the others read the result here. A process that loses a race
 * leaves the record unchanged: it holds a newer count.
 */
import { z } from "zod";
import { SPLIT_STATES } from "../model/split.ts";
import type { SplitState } from "../model/split.ts";
import type { Catalog } from "../ports/catalog.ts";
import { decodeStored, encodeStored, storedObject } from "./stored-json.ts";

const SPACE = "service";
const KEY = "split-counts";

export interface CountedSplits {
  /** Microseconds. */
  readonly countedAt: number;
  /** Over all namespaces; every state is present. */
  readonly states: ReadonlyMap<SplitState, number>;
}

/** Undefined before the first count. */
export async function readCountedSplits(catalog: Catalog): Promise<CountedSplits | undefined> {
  const stored = await catalog.read(SPACE, KEY);
  if (stored === undefined) return undefined;
  const { countedAt, states } = decodeStored(countsSchema, SPACE, stored);
  return {
    countedAt,
    states: new Map(SPLIT_STATES.map((state) => [state, states[state] ?? 0])),
  };
}

export async function writeCountedSplits(catalog: Catalog, counted: CountedSplits): Promise<void> {
  const before = await catalog.read(SPACE, KEY);
  const { countedAt, states } = counted;
  const value = encodeStored({ countedAt, states: Object.fromEntries(states) });
  await catalog.write(SPACE, KEY, value, before?.version ?? 0);
}

const countsSchema = storedObject({
  countedAt: z.number().int(),
  states: z.record(z.string(), z.number().int().nonnegative()),
});
