/**
 * The partitions of a slice that are known by name: the largest ones that the last walk stored, and
 * those with a split. Where a split knows of more than the walk saw, its numbers count.
 */
import type { SliceRef } from "../model/partition.ts";
import type { SplitRecord } from "../model/split.ts";
import type { TopPartition, TopPartitions } from "../model/top-partition.ts";
import type { Catalog } from "../ports/catalog.ts";
import { keyOf } from "../records/split-spaces.ts";
import { listSplits, slicesWithSplits } from "../records/split-records.ts";
import type { UnreadableEntry } from "../records/stored-json.ts";
import { readTopPartitions } from "../records/top-partition-records.ts";

/** Splits of one slice that are considered; a slice with more has other problems. */
export const SPLITS_MAX = 5_000;

export interface SizedPartitions {
  /** Undefined before the first walk. */
  readonly walk: TopPartitions | undefined;
  /** By `partitionName`; at most `SPLITS_MAX`. */
  readonly splits: ReadonlyMap<string, SplitRecord>;
  /** By `partitionName`. */
  readonly partitions: ReadonlyMap<string, TopPartition>;
}

export async function readSizedPartitions(
  catalog: Catalog,
  ref: SliceRef,
  unreadable: (entry: UnreadableEntry) => void,
): Promise<SizedPartitions> {
  const walk = await readTopPartitions(catalog, ref);
  const splits = await readSplits(catalog, ref, unreadable);
  return { walk, splits, partitions: merged(ref, walk?.partitions ?? [], splits) };
}

/** A partition of the slice as the key of a map. */
export function partitionName(
  ref: SliceRef,
  {
    seriesId,
    timeBucket,
    eventBucket,
  }: Pick<TopPartition, "seriesId" | "timeBucket" | "eventBucket">,
): string {
  return keyOf({ ...ref, seriesId, timeBucket, eventBucket });
}

async function readSplits(
  catalog: Catalog,
  ref: SliceRef,
  unreadable: (entry: UnreadableEntry) => void,
): Promise<ReadonlyMap<string, SplitRecord>> {
  const splits = new Map<string, SplitRecord>();
  if (!(await slicesWithSplits(catalog, ref.namespaceId)).has(ref.slice)) return splits;
  for await (const split of listSplits(catalog, ref, unreadable)) {
    splits.set(keyOf(split.partition), split);
    if (splits.size === SPLITS_MAX) break;
  }
  return splits;
}

/** Where a split knows of more than the walk saw, its numbers count: a lower bound. */
function merged(
  ref: SliceRef,
  walked: readonly TopPartition[],
  splits: ReadonlyMap<string, SplitRecord>,
): ReadonlyMap<string, TopPartition> {
  const all = new Map(walked.map((partition) => [partitionName(ref, partition), partition]));
  for (const [name, split] of splits) {
    const { seriesId, timeBucket, eventBucket } = split.partition;
    const known = all.get(name);
    const { bytes, events } = sizeOf(split);
    if (bytes === 0 && events === 0) continue;
    if (known !== undefined && known.bytes >= bytes && known.events >= events) continue;
    all.set(name, {
      seriesId,
      timeBucket,
      eventBucket,
      bytes: Math.max(bytes, known?.bytes ?? 0),
      events: Math.max(events, known?.events ?? 0),
      exact: false,
    });
  }
  return all;
}

/** What the detection saw, or what has been copied, if that is more. */
function sizeOf({ bytes, events, segments }: SplitRecord): { bytes: number; events: number } {
  const copied = { bytes: 0, events: 0 };
  for (const segment of segments) {
    copied.bytes += segment.bytes;
    copied.events += segment.events;
  }
  return { bytes: Math.max(bytes, copied.bytes), events: Math.max(events, copied.events) };
}
