/**
 * Which partitions of a slice are the largest: those that the last walk stored, with what splits
 * and reads know since. A detection that a read made after the walk is merged in.
 */
import { z } from "zod";
import { compareBytes, utf8 } from "../lib/bytes.ts";
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import type { Namespace } from "../model/namespace.ts";
import type { SplitRecord } from "../model/split.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { TopPartition, TopPartitions } from "../model/top-partition.ts";
import { idFraction } from "../model/width-grid.ts";
import type { RouteName } from "../partition/partition-source.ts";
import type { Catalog } from "../ports/catalog.ts";
import { readReadyNamespace } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import { splitIdOf } from "../records/split-ids.ts";
import type { UnreadableEntry } from "../records/stored-json.ts";
import { requireSlice } from "./require-slice.ts";
import { partitionName, readSizedPartitions } from "./sized-partitions.ts";

export interface ListPartitionsOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** How a partition with this split is read now. */
  readonly routeOf: (namespace: Namespace, slice: TimeSlice, split: SplitRecord) => RouteName;
  /** Called with a split that cannot be decoded: the list shows its partition without it. */
  readonly unreadable: (entry: UnreadableEntry) => void;
}

export type PartitionOrder = "BYTES" | "EVENTS";

/** Which partitions are wanted; all if nothing is given. Bounds are included unless said otherwise. */
export interface PartitionFilter {
  readonly timeBucketMin?: number | undefined;
  readonly timeBucketMax?: number | undefined;
  readonly bytesMin?: number | undefined;
  readonly bytesMax?: number | undefined;
  readonly seriesId?: string | undefined;
  /** Rows of a width map by hash: `from` is included, `to` is not. */
  readonly idFraction?: { readonly from: number; readonly to: number } | undefined;
}

export interface PartitionsQuery {
  /** An empty name means the slice that takes events now. */
  readonly timeSlice: string;
  readonly order: PartitionOrder;
  readonly pageSize: number;
  /** The `next` of the page before; "" for the first page. */
  readonly after: string;
  readonly filter?: PartitionFilter;
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
  /** How many are known by name, and how many of them the query wants. */
  readonly known: number;
  readonly matching: number;
  /** "" at the end. */
  readonly next: string;
}

export class PartitionListing {
  readonly #options: ListPartitionsOptions;

  constructor(options: ListPartitionsOptions) {
    this.#options = options;
  }

  /** Rejects with TIME_SLICE_NOT_FOUND if there is no such slice, or no longer. */
  async list(namespace: string, query: PartitionsQuery): Promise<PartitionPage> {
    const { catalog, clock, unreadable } = this.#options;
    const record = await readReadyNamespace(catalog, namespace);
    const slices = await readSlices(catalog, record.id);
    const slice = requireSlice(slices, namespace, query.timeSlice, clock.nowMicros());
    const ref = { namespaceId: record.id, slice: slice.name };
    const { walk, splits, partitions } = await readSizedPartitions(catalog, ref, unreadable);
    const unit = query.order === "BYTES" ? "bytes" : "events";
    const total = (query.order === "BYTES" ? walk?.totalBytes : walk?.totalEvents) ?? 0;
    const wanted = [...partitions.values()].filter((partition) => matches(partition, query));
    const all = inOrder(wanted, unit);
    const begin = positionAfter(all, unit, query.after);
    const page = all.slice(begin, begin + query.pageSize);
    const last = page.at(-1);
    const more = begin + page.length < all.length;
    return {
      timeSlice: slice.name,
      walk,
      known: partitions.size,
      matching: all.length,
      partitions: page.map((partition) => {
        const split = splits.get(partitionName(ref, partition));
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
}

/** Whether a partition is one of those that the query wants. */
function matches(partition: TopPartition, { filter }: PartitionsQuery): boolean {
  const { timeBucket, bytes, seriesId } = partition;
  if (timeBucket < (filter?.timeBucketMin ?? 0)) return false;
  if (timeBucket > (filter?.timeBucketMax ?? Infinity)) return false;
  if (bytes < (filter?.bytesMin ?? 0) || bytes > (filter?.bytesMax ?? Infinity)) return false;
  if (filter?.seriesId !== undefined && filter.seriesId !== seriesId) return false;
  if (filter?.idFraction === undefined) return true;
  const fraction = idFraction(seriesId);
  return fraction >= filter.idFraction.from && fraction < filter.idFraction.to;
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
