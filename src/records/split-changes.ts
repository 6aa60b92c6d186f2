/**
 * Which routes were published when: space `split-changes/<namespace id>`, key = time and partition.
 * So processes that follow routes need not list all of them repeatedly (rule C19).
 *
 * The times are of the publishers' clocks: a process that asks for new changes begins a little
 * earlier.
 */
import { z } from "zod";
import { forEachBounded } from "../lib/for-each-bounded.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { markSplitsChanged } from "./changed-splits.ts";
import { slicedKeyOf, slicedPartitionOf, timeKey } from "./split-spaces.ts";
import { decodeStored, encodeStored, storedObject } from "./stored-json.ts";

const TRIM_PAGE = 1_000;
/** Up to where each namespace's log is trimmed, key = namespace id. */
const TRIMMED = "split-changes-trimmed";
/** A publisher with a slow clock, or that had paused, may still note a change from before it. */
const TRIM_OVERLAP_MICROS = 600 * SECOND_MICROS;

export interface SplitChange {
  /** Pass it as `after` to continue behind this change. */
  readonly key: string;
  /** Microseconds. */
  readonly at: number;
  readonly partition: PartitionKey;
}

export async function noteChange(
  catalog: Catalog,
  nowMicros: number,
  partition: PartitionKey,
): Promise<void> {
  const key = `${timeKey(nowMicros)}|${slicedKeyOf(partition)}`;
  // An existing one has the same content.
  await catalog.write(changesSpace(partition.namespaceId), key, encodeStored({}), 0);
  await markSplitsChanged(catalog, partition.namespaceId);
}

/**
 * At most `limit` behind the key `after`: "" for all, `changesFrom(t)` for those from a time on.
 */
export async function listChanges(
  catalog: Catalog,
  namespaceId: string,
  after: string,
  limit: number,
): Promise<SplitChange[]> {
  const page = await catalog.list(changesSpace(namespaceId), after, limit);
  return page.map(({ key }) => {
    const bar = key.indexOf("|");
    return {
      key,
      at: timeOf(key),
      partition: slicedPartitionOf(namespaceId, key.slice(bar + 1)),
    };
  });
}

/** The key before the first change at that time or later. */
export function changesFrom(micros: number): string {
  return timeKey(micros);
}

/**
 * Removes the changes from before a time; true if none is left at all. It may stop after any page.
 *
 * A listing also walks over removed entries, for as long as the storage remembers them: ten days on
 * Cassandra, which refuses a listing that meets too many. So the trim begins near where the last one
 * ended, which is stored, and never walks over them again.
 */
export async function trimChanges(
  catalog: Catalog,
  namespaceId: string,
  olderThanMicros: number,
  continues: () => boolean = () => true,
): Promise<boolean> {
  const space = changesSpace(namespaceId);
  const end = timeKey(olderThanMicros);
  let position = await catalog.read(TRIMMED, namespaceId);
  let after = timeKey(trimmedTo(position) - TRIM_OVERLAP_MICROS);
  while (continues()) {
    const page = await catalog.list(space, after, TRIM_PAGE);
    const old = page.filter(({ key }) => key < end);
    await forEachBounded(old, ({ key, version }) => catalog.remove(space, key, version));
    const last = old.at(-1);
    if (last === undefined) return page.length === 0;
    after = last.key;
    position = await moveTrimmed(catalog, namespaceId, position, timeOf(after));
  }
  return false;
}

/** Removes the whole log of a removed namespace; true if none is left. */
export async function removeChanges(
  catalog: Catalog,
  namespaceId: string,
  continues: () => boolean,
): Promise<boolean> {
  if (!(await trimChanges(catalog, namespaceId, Number.MAX_SAFE_INTEGER, continues))) return false;
  const position = await catalog.read(TRIMMED, namespaceId);
  if (position !== undefined) await catalog.remove(TRIMMED, namespaceId, position.version);
  return true;
}

function trimmedTo(position: CatalogRecord | undefined): number {
  return position === undefined ? 0 : decodeStored(positionSchema, TRIMMED, position).to;
}

/** If another process moves it too, its position is as good. */
async function moveTrimmed(
  catalog: Catalog,
  namespaceId: string,
  before: CatalogRecord | undefined,
  to: number,
): Promise<CatalogRecord | undefined> {
  if (to <= trimmedTo(before)) return before;
  await catalog.write(TRIMMED, namespaceId, encodeStored({ to }), before?.version ?? 0);
  return catalog.read(TRIMMED, namespaceId);
}

function timeOf(key: string): number {
  return Number(key.slice(0, key.indexOf("|")));
}

const positionSchema = storedObject({ to: z.number().int().nonnegative() });

function changesSpace(namespaceId: string): string {
  return `split-changes/${namespaceId}`;
}
