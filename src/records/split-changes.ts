/**
 * Which routes were published when: space `split-changes/<namespace id>`, key = time and partition.
 * So processes that follow routes need not list all of them repeatedly (rule C19).
 *
 * The times are of the publishers' clocks: a process that asks for new changes begins a little
 * earlier.
 */
import type { PartitionKey } from "../model/partition.ts";
import type { Catalog } from "../ports/catalog.ts";
import { markSplitsChanged } from "./changed-splits.ts";
import { slicedKeyOf, slicedPartitionOf, timeKey } from "./split-spaces.ts";
import { encodeStored } from "./stored-json.ts";

const TRIM_PAGE = 1_000;

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
      at: Number(key.slice(0, bar)),
      partition: slicedPartitionOf(namespaceId, key.slice(bar + 1)),
    };
  });
}

/** The key before the first change at that time or later. */
export function changesFrom(micros: number): string {
  return timeKey(micros);
}

export async function trimChanges(
  catalog: Catalog,
  namespaceId: string,
  olderThanMicros: number,
): Promise<void> {
  const space = changesSpace(namespaceId);
  const end = timeKey(olderThanMicros);
  for (let after = ""; ;) {
    const page = await catalog.list(space, after, TRIM_PAGE);
    for (const { key, version } of page) {
      if (key >= end) return;
      await catalog.remove(space, key, version);
      after = key;
    }
    if (page.length < TRIM_PAGE) return;
  }
}

function changesSpace(namespaceId: string): string {
  return `split-changes/${namespaceId}`;
}
