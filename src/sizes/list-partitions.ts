/**
 * Which partitions of a slice are the largest: those that the last walk stored, with what splits
 * and reads know since. A detection that a read made after the walk is merged in.
 */
import { z } from "zod";
import { compareBytes, utf8 } from "../lib/bytes.ts";
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import type { Namespace } from "../model/namespace.ts";
import type { SliceRef } from "../model/partition.ts";
import type { SplitRecord } from "../model/split.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { TopPartition, TopPartitions } from "../model/top-partition.ts";
import type { RouteName } from "../partition/partition-source.ts";
import type { Catalog } from "../ports/catalog.ts";
import { readReadyNamespace } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import { keyOf } from "../records/split-spaces.ts";
import { splitIdOf } from "../records/split-ids.ts";
import { listSplits, slicesWithSplits } from "../records/split-records.ts";
import type { UnreadableEntry } from "../records/stored-json.ts";
import { readTopPartitions } from "../records/top-partition-records.ts";
import { requireSlice } from "./require-slice.ts";

export interface ListPartitionsOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** How a partition with this split is read now. */
  readonly routeOf: (namespace: Namespace, slice: TimeSlice, split: SplitRecord) => RouteName;
  /** Called with a split that cannot be decoded: the list shows its partition without it. */
  readonly unreadable: (entry: UnreadableEntry) => void;
}

export type PartitionOrder = "BYTES" | "EVENTS";

export interface PartitionsQuery {
  /** An empty name means the slice that takes events now. */
  readonly timeSlice: string;
  readonly order: PartitionOrder;
  readonly pageSize: number;
  /** The `next` of the page before; "" for the first page. */
  readonly after: string;
}

export interface ListedPartition extends TopPartition {
  /** Of the slice, in the order's unit: from 0 to 1; 0 before the first walk. */
  readonly share: number;
  readonly route: RouteName;
  readonly split: { readonly id: string; readonly state: SplitRecord["state"] } | undefined;
}

export interface PartitionPage {
  readonly timeSlice: string;
  /** Undefined before the first walk. */
  readonly walk: Omit<TopPartitions, "partitions"> | undefined;
  readonly partitions: readonly ListedPartition[];
  /** "" at the end. */
  readonly next: string;
}

/** Splits of one slice that are considered; a slice with more has other problems. */
const SPLITS_MAX = 5_000;

export class PartitionListing {
  readonly #options: ListPartitionsOptions;

  constructor(options: ListPartitionsOptions) {
    this.#options = options;
  }

  /** Rejects with TIME_SLICE_NOT_FOUND if there is no such slice, or no longer. */
  async list(namespace: string, query: PartitionsQuery): Promise<PartitionPage> {
    const { catalog, clock } = this.#options;
    const record = await readReadyNamespace(catalog, namespace);
    const slices = await readSlices(catalog, record.id);
    const slice = requireSlice(slices, namespace, query.timeSlice, clock.nowMicros());
    const ref = { namespaceId: record.id, slice: slice.name };
    const stored = await readTopPartitions(catalog, ref);
    const splits = await this.#splits(ref);
    const unit = query.order === "BYTES" ? "bytes" : "events";
    const total = (query.order === "BYTES" ? stored?.totalBytes : stored?.totalEvents) ?? 0;
    const all = inOrder(merged(ref, stored?.partitions ?? [], splits), unit);
    const begin = positionAfter(all, unit, query.after);
    const page = all.slice(begin, begin + query.pageSize);
    const last = page.at(-1);
    const more = begin + page.length < all.length;
    return {
      timeSlice: slice.name,
      walk: stored,
      partitions: page.map((partition) => {
        const split = splits.get(nameIn(ref, partition));
        return {
          ...partition,
          share: total === 0 ? 0 : Math.min(1, partition[unit] / total),
          route: split ? this.#options.routeOf(record, slice, split) : "ORIGINAL_NOT_SPLIT",
          split: split && { id: splitIdOf(split.partition), state: split.state },
        };
      }),
      next: more && last !== undefined ? cursorOf(last, unit) : "",
    };
  }

  async #splits(ref: SliceRef): Promise<ReadonlyMap<string, SplitRecord>> {
    const { catalog, unreadable } = this.#options;
    const splits = new Map<string, SplitRecord>();
    if (!(await slicesWithSplits(catalog, ref.namespaceId)).has(ref.slice)) return splits;
    for await (const split of listSplits(catalog, ref, unreadable)) {
      splits.set(keyOf(split.partition), split);
      if (splits.size === SPLITS_MAX) break;
    }
    return splits;
  }
}

/** Where a split knows of more than the walk saw, its numbers count: a lower bound. */
function merged(
  ref: SliceRef,
  walked: readonly TopPartition[],
  splits: ReadonlyMap<string, SplitRecord>,
): TopPartition[] {
  const all = new Map(walked.map((partition) => [nameIn(ref, partition), partition]));
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
  return [...all.values()];
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

type Unit = "bytes" | "events";

/** Largest first; equal ones by their names, so that pages continue each other. */
function inOrder(partitions: readonly TopPartition[], unit: Unit): TopPartition[] {
  return partitions.toSorted((a, b) => b[unit] - a[unit] || compareNames(a, b));
}

function compareNames(a: TopPartition, b: TopPartition): number {
  return (
    compareBytes(utf8(a.seriesId), utf8(b.seriesId)) ||
    a.timeBucket - b.timeBucket ||
    a.eventBucket - b.eventBucket
  );
}

/** The place of a partition in the order: also good when the partition itself has gone. */
function cursorOf(partition: TopPartition, unit: Unit): string {
  const { seriesId, timeBucket, eventBucket } = partition;
  return JSON.stringify([partition[unit], timeBucket, eventBucket, seriesId]);
}

function positionAfter(all: readonly TopPartition[], unit: Unit, cursor: string): number {
  if (cursor === "") return 0;
  const [size, timeBucket, eventBucket, seriesId] = parseCursor(cursor);
  const last = { seriesId, timeBucket, eventBucket, bytes: size, events: size, exact: false };
  const index = all.findIndex((each) => (size - each[unit] || compareNames(each, last)) > 0);
  return index < 0 ? all.length : index;
}

/** Throws PAGE_TOKEN_INVALID for anything that `cursorOf` did not make. */
function parseCursor(cursor: string): [number, number, number, string] {
  const parsed = cursorSchema.safeParse(jsonIn(cursor));
  if (parsed.success) return parsed.data;
  throw new ServiceError(
    "PAGE_TOKEN_INVALID",
    "pageToken is not one this server gave out; begin again without it",
  );
}

const cursorSchema = z.tuple([z.number(), z.number(), z.number(), z.string()]);

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Not a cursor, as the caller finds.
  }
}

function nameIn(ref: SliceRef, { seriesId, timeBucket, eventBucket }: TopPartition): string {
  return keyOf({ ...ref, seriesId, timeBucket, eventBucket });
}
