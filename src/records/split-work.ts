/**
 * Which splits are to be looked at when: spaces `split-work/<n>`, one for each window of time, key = due
 * time and partition. What the sweeper goes by, so that every split ends without any message (rule C16).
 * See `split-work-windows.ts` for the windows.
 *
 * A split's own record says when it is due; an entry here is how it is found. The two are two records,
 * and a process can stop between them. So an entry is made before its record, and says from which
 * version of the record somebody was about to move: while the record still has that version the move
 * may come at any time, and the entry stays; once it has a later one the move has come or never will,
 * and an entry at another time than the record's is left over.
 */
import { LOST, tryCompareAndSet } from "../lib/compare-and-set.ts";
import { z } from "zod";
import type { PartitionKey } from "../model/partition.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { slicedKeyOf, slicedPartitionOf, timeKey } from "./split-spaces.ts";
import {
  listWindows,
  openWindow,
  WINDOW_MICROS,
  windowOf,
  windowSpace,
} from "./split-work-windows.ts";
import { decodeStored, encodeStored, storedObject } from "./stored-json.ts";

export interface DueSplit {
  /** Microseconds. */
  readonly dueAt: number;
  readonly partition: PartitionKey;
  readonly namespace: string;
  /** Whether a route is to be published with the move: whoever finds the entry left over does so. */
  readonly publishes: boolean;
}

/** Where an entry lies. */
export type DueKey = Pick<DueSplit, "dueAt" | "partition">;

/** An entry as it is stored. */
export interface DueEntry extends DueSplit {
  /** The record's version the move starts from. */
  readonly from: number;
  readonly version: number;
}

/** At most `limit` that are due, the longest first, behind `after` where that is given. */
export async function listDue(
  catalog: Catalog,
  nowMicros: number,
  limit: number,
  after?: DueKey,
): Promise<DueSplit[]> {
  const due: DueSplit[] = [];
  for await (const window of listWindows(catalog, after?.dueAt ?? 0, nowMicros)) {
    const begun = after !== undefined && windowOf(after.dueAt) === window;
    const behind = begun ? dueKey(after) : timeKey(window);
    for (const stored of await catalog.list(windowSpace(window), behind, limit - due.length)) {
      const { dueAt, partition, namespace, publishes } = decode(stored);
      if (dueAt > nowMicros || dueAt >= window + WINDOW_MICROS) break;
      due.push({ dueAt, partition, namespace, publishes });
    }
    if (due.length >= limit) break;
  }
  return due;
}

export async function readDue(catalog: Catalog, place: DueKey): Promise<DueEntry | undefined> {
  const stored = await catalog.read(spaceOf(place), dueKey(place));
  return stored === undefined ? undefined : decode(stored);
}

/**
 * Notes that somebody is about to move a split from the version `from`. Also over one that is there: who
 * made that one may be about to remove it, and must find that it is another by now. Undefined if somebody
 * has overtaken us: then nothing may be moved.
 */
export async function putDue(
  catalog: Catalog,
  entry: Omit<DueEntry, "version">,
): Promise<DueEntry | undefined> {
  const [window, space, key] = [windowOf(entry.dueAt), spaceOf(entry), dueKey(entry)];
  if (!(await openWindow(catalog, window))) return undefined;
  const put = await tryCompareAndSet(async () => {
    const there = await catalog.read(space, key);
    const found = there === undefined ? undefined : decode(there);
    // Who is about to move from a later version has overtaken us.
    if (found !== undefined && found.from > entry.from) return undefined;
    const publishes = entry.publishes || found?.publishes === true;
    const { namespace, from } = entry;
    const value = encodeStored({ namespace, from, publishes });
    const version = await catalog.write(space, key, value, there?.version ?? 0);
    if (version === undefined) return LOST;
    return (await openWindow(catalog, window)) ? { ...entry, publishes, version } : undefined;
  });
  return put === LOST ? undefined : put;
}

/** Removes it if nobody has written it since it was read. */
export async function removeDue(catalog: Catalog, entry: DueEntry): Promise<void> {
  await catalog.remove(spaceOf(entry), dueKey(entry), entry.version);
}

function spaceOf({ dueAt }: DueKey): string {
  return windowSpace(windowOf(dueAt));
}

function dueKey({ dueAt, partition }: DueKey): string {
  return `${timeKey(dueAt)}|${partition.namespaceId}|${slicedKeyOf(partition)}`;
}

const dueSchema = storedObject({
  namespace: z.string(),
  from: z.number().int().nonnegative(),
  publishes: z.boolean(),
});

function decode(stored: CatalogRecord): DueEntry {
  const { key } = stored;
  const time = key.indexOf("|");
  const namespace = key.indexOf("|", time + 1);
  return {
    ...decodeStored(dueSchema, "split-work", stored),
    dueAt: Number(key.slice(0, time)),
    partition: slicedPartitionOf(key.slice(time + 1, namespace), key.slice(namespace + 1)),
    version: stored.version,
  };
}
