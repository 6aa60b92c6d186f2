/**
 * A walk over the partitions of one slice: which there are and how large each is. The port's method
 * is `EventStore.walkPartitions`.
 *
 * A walk reads what it counts, so it is background work, never part of a request. It goes page by
 * page: each call has its own budget, and the caller pauses between calls as long as it likes.
 */
import type { PartitionKey } from "../model/partition.ts";

/** A partition of the walked slice. */
export type PartitionInSlice = Pick<PartitionKey, "seriesId" | "timeBucket" | "eventBucket">;

export interface WalkRequest {
  /** Where the page before ended; undefined for the first page. */
  readonly after: string | undefined;
  /** No page has more partitions, except that a page never ends inside one token of Cassandra. */
  readonly partitionsMax: number;
  /** The page ends behind the partition whose count exceeds this; at least one is walked. */
  readonly bytesMax: number;
  /** The page ends behind the partition that is being counted at this time. */
  readonly msMax: number;
  /** Above this many bytes of one partition the rest is estimated. */
  readonly countBytesMax: number;
  /** Whether to count the partition. It is listed either way. */
  readonly counts: (partition: PartitionInSlice) => boolean;
}

export interface CountedSize {
  readonly kind: "counted";
  /** Of the events' frames: what `Run.bytes` counts, on every engine. */
  readonly bytes: number;
  readonly events: number;
  /** False: the partition was counted up to `countBytesMax`, and the rest follows from its time. */
  readonly exact: boolean;
}

/** "not counted": the request did not want it. "damaged": its bytes cannot be vouched for. */
export type WalkedSize =
  CountedSize | { readonly kind: "not counted" } | { readonly kind: "damaged" };

export interface WalkedPartition extends PartitionInSlice {
  readonly size: WalkedSize;
}

export interface WalkPage {
  /** In an order of the engine's own. */
  readonly partitions: readonly WalkedPartition[];
  /** Opaque: `after` of the next page, also after a restart. Undefined: the walk is at its end. */
  readonly next: string | undefined;
  /** Whether the partitions of an id come one after another, also across pages. */
  readonly idsTogether: boolean;
  /** Bytes of events that were read. */
  readonly bytesRead: number;
}
