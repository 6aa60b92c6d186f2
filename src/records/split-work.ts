/**
 * Two indexes by time, which let the sweeper find splits without any message (rule C16):
 *
 * - `split-work`: when the work on a split is due;
 * - `split-publish`: that a route may have to be published (rule C23). A process makes such a guard
 *   entry before it changes a record, and removes it once the route is published.
 *
 * Each has spaces `<index>/<n>`, one for each window of time; key = time and partition. See
 * `split-work-windows.ts` for the windows.
 *
 * A split's own record says when it is due; an entry here is how it is found. The two are two
 * records, and a process can stop between them. So a process makes the entry before it writes the
 * record. The entry names the version of the record that the process is about to change. While the
 * record has that version the change may still come, and the entry stays. Once the record has a
 * later version, the change has come or never will, and an entry at another time than the record's
 * is left over.
 */
import { LOST, tryCompareAndSet } from "../lib/compare-and-set.ts";
import { z } from "zod";
import { ServiceError } from "../lib/errors.ts";
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
import type { WorkIndex } from "./split-work-windows.ts";
import { decodeOrSkip, decodeStored, encodeStored, storedObject } from "./stored-json.ts";
import type { UnreadableEntry } from "./stored-json.ts";

/** Where an entry lies. */
export interface DueKey {
  readonly index: WorkIndex;
  /** Microseconds. */
  readonly dueAt: number;
  readonly partition: PartitionKey;
}

export interface DueSplit extends DueKey {
  readonly namespace: string;
}

/** An entry as it is stored. */
export interface DueEntry extends DueSplit {
  /** The version of the record that the process is about to change. */
  readonly from: number;
  readonly version: number;
}

/** Where a listing continues. */
export interface DueCursor {
  readonly window: number;
  readonly key: string;
}

export interface DuePage {
  /** By time, the oldest first. */
  readonly due: readonly DueSplit[];
  /** Entries that the listing skipped: one of them must not keep the others waiting. */
  readonly unreadable: readonly UnreadableEntry[];
  /** Undefined at the end. */
  readonly cursor: DueCursor | undefined;
}

/** At most `limit` entries that are due, behind `after` if that is given. */
export async function listDue(
  catalog: Catalog,
  index: WorkIndex,
  nowMicros: number,
  limit: number,
  after?: DueCursor,
): Promise<DuePage> {
  const due: DueSplit[] = [];
  const unreadable: UnreadableEntry[] = [];
  let cursor: DueCursor | undefined;
  let listed = 0;
  for await (const window of listWindows(catalog, index, after?.window ?? 0, nowMicros)) {
    const space = windowSpace(index, window);
    const behind = after?.window === window ? after.key : timeKey(window);
    const end = timeKey(Math.min(nowMicros + 1, window + WINDOW_MICROS));
    for (const stored of await catalog.list(space, behind, limit - listed)) {
      if (stored.key >= end) break;
      listed++;
      cursor = { window, key: stored.key };
      const skip = (entry: UnreadableEntry): void => void unreadable.push(entry);
      const entry = decodeOrSkip(space, stored, () => decode(index, space, stored), skip);
      if (entry !== undefined) due.push(withoutVersions(entry));
    }
    if (listed >= limit) return { due, unreadable, cursor };
  }
  return { due, unreadable, cursor: undefined };
}

/** Behind an entry that a listing gave. */
export function cursorAt(due: DueKey): DueCursor {
  return { window: windowOf(due.dueAt), key: dueKey(due) };
}

export async function readDue(catalog: Catalog, place: DueKey): Promise<DueEntry | undefined> {
  const space = spaceOf(place);
  const stored = await catalog.read(space, dueKey(place));
  return stored === undefined ? undefined : decode(place.index, space, stored);
}

/**
 * Notes that a process is about to move a split from the version `from`. It also replaces an entry
 * that is there: the process that made that one may be about to remove it, and must find another
 * version. Undefined if another process has overtaken this one: then nothing may be moved.
 */
export async function putDue(
  catalog: Catalog,
  entry: Omit<DueEntry, "version">,
): Promise<DueEntry | undefined> {
  const { index } = entry;
  const [window, space, key] = [windowOf(entry.dueAt), spaceOf(entry), dueKey(entry)];
  if (!(await openWindow(catalog, index, window))) return undefined;
  const put = await tryCompareAndSet(async () => {
    const there = await catalog.read(space, key);
    const found = there === undefined ? undefined : decode(index, space, there);
    // A process that is about to move from a later version has overtaken this one.
    if (found !== undefined && found.from > entry.from) return undefined;
    const { namespace, from } = entry;
    const value = encodeStored({ namespace, from });
    const version = await catalog.write(space, key, value, there?.version ?? 0);
    if (version === undefined) return LOST;
    return (await openWindow(catalog, index, window)) ? { ...entry, version } : undefined;
  });
  return put === LOST ? undefined : put;
}

/** Removes the entry unless another process has written it since it was read. */
export async function removeDue(catalog: Catalog, entry: DueEntry): Promise<void> {
  await catalog.remove(spaceOf(entry), dueKey(entry), entry.version);
}

function spaceOf({ index, dueAt }: DueKey): string {
  return windowSpace(index, windowOf(dueAt));
}

function dueKey({ dueAt, partition }: DueKey): string {
  return `${timeKey(dueAt)}|${partition.namespaceId}|${slicedKeyOf(partition)}`;
}

const dueSchema = storedObject({
  namespace: z.string(),
  from: z.number().int().nonnegative(),
});

/** In a key: time, namespace id, slice, then the partition's own key. */
const KEY = /^(?<time>\d{16})\|(?<namespaceId>[^|]+)\|(?<sliced>[^|]+\|.+\|\d+\|\d+)$/s;

function decode(index: WorkIndex, space: string, stored: CatalogRecord): DueEntry {
  const { time, namespaceId, sliced } = KEY.exec(stored.key)?.groups ?? {};
  if (time === undefined || namespaceId === undefined || sliced === undefined) {
    throw new ServiceError(
      "DATA_LOSS",
      `the catalog's record ${space}/${stored.key} has a key that cannot be read; remove it`,
      { details: { space, key: stored.key } },
    );
  }
  return {
    ...decodeStored(dueSchema, space, stored),
    index,
    dueAt: Number(time),
    partition: slicedPartitionOf(namespaceId, sliced),
    version: stored.version,
  };
}

function withoutVersions({ index, dueAt, partition, namespace }: DueEntry): DueSplit {
  return { index, dueAt, partition, namespace };
}
