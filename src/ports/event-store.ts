/**
 * Stores events. Every engine passes the suite in `tests/conformance/event-store.ts`.
 *
 * The engine may hold its arguments only until the call ends. What it returns stays valid for as
 * long as the caller keeps it.
 */
import type { Micros } from "../lib/time-units.ts";
import type { LatencyTargets, NamespaceConfig } from "../model/namespace-config.ts";
import type { PartitionKey, SliceRef } from "../model/partition.ts";
import type { WalkPage, WalkRequest } from "./partition-walk.ts";
import type { EventBytes } from "../wire/event-record.ts";
import type { Position, Run } from "../wire/frames.ts";

/** An event with its location inside the slice. */
export interface PlacedEvent {
  readonly event: EventBytes;
  readonly timeBucket: number;
  readonly eventBucket: number;
}

/**
 * What a namespace requires of its storage: consistency and latency. An engine on one machine has
 * no choice to make and ignores it.
 */
export interface ServiceLevel extends LatencyTargets {
  /**
   * ALL asks every replica, for readers that must not miss what was written with less (rules C5 and
   * C14).
   */
  readonly consistency: NamespaceConfig["consistency"] | "ALL";
}

export type Order = "NEWEST_FIRST" | "OLDEST_FIRST";

export interface ScanRange {
  /** Event time in microseconds; `from` belongs to the range, `to` does not. */
  readonly from: Micros;
  readonly to: Micros;
  readonly order: Order;
  /** Continue behind this position (in the order of the scan); the position itself is excluded. */
  readonly after: Position | undefined;
  /** No run has more events than this. */
  readonly runEventsMax: number;
  /** No run has more bytes than this, except one that is a single larger event. */
  readonly runBytesMax: number;
  /**
   * How many events the caller is going to take, if it knows: the scan may fetch exactly these, and
   * nothing ahead of them. If the caller asks for more, the scan continues.
   */
  readonly eventsWanted?: number | undefined;
  readonly level?: ServiceLevel;
}

/** One time series within a slice. */
export type SeriesRef = Pick<PartitionKey, "namespaceId" | "slice" | "seriesId">;

/** Time buckets of a slice, from `first` to `last`, both included. */
export interface BucketSearch {
  readonly first: number;
  readonly last: number;
  /** Which of several buckets is the nearest. */
  readonly order: Order;
}

/** A stored block of events of a sealed part. The store interprets only its key. */
export interface StoredBlock {
  /** The position of the block's oldest event, by which it is found. */
  readonly key: Position;
  readonly bytes: Uint8Array;
  /** The store compared every byte with a checksum on this read: callers need not repeat it. */
  readonly checked?: true;
}

export interface BlockRange {
  readonly order: Order;
  /**
   * The first block is the one with the greatest key at or before this (the only one that can hold
   * it), in either order; undefined begins at the end of the part. OLDEST_FIRST without such a
   * block begins with the oldest.
   */
  readonly at: Position | undefined;
  /**
   * OLDEST_FIRST: no block with a key at or behind this. NEWEST_FIRST: none behind the first block
   * with a key at or before this.
   */
  readonly until: Position | undefined;
  /**
   * No block whose key has an earlier time than this, not even the one that could hold `at`. Ranges
   * that meet at such a time share no block, and together have all of them.
   */
  readonly keyTimeMin?: Micros;
  /** How many blocks the first fetch asks for; later fetches ask for as many as fit. */
  readonly firstBlocks: number;
  /** No fetch has more bytes than this, except one of a single block. */
  readonly fetchBytesMax: number;
  /** No block of the part is larger. */
  readonly blockBytesMax: number;
  readonly level?: ServiceLevel;
}

/** Which ids of a slice to list. */
export interface IdSearch {
  /** Only ids that begin with it. */
  readonly prefix: string;
  /** Continue behind this id; undefined for the first. */
  readonly after: string | undefined;
  readonly idsMax: number;
  /** The list ends behind the id that is found at this time. */
  readonly msMax: number;
}

export interface IdPage {
  /** In the order of `compareListedIds`, each once. Empty only at the end. */
  readonly ids: readonly string[];
  /** Whether there is none behind them. */
  readonly ended: boolean;
}

export interface SliceStats {
  /** On disk, approximately. */
  readonly bytes: number;
  /** Written events, including repeats. */
  readonly events: number;
}

export interface EventStore {
  /**
   * Makes storage for a slice. Repeating it does nothing. A dropped slice cannot be made again:
   * CONFLICT.
   */
  createSlice(slice: SliceRef): Promise<void>;

  /**
   * Removes a slice with its events and frees the space. Repeating it does nothing. Scans under way
   * end, or fail with STORAGE_UNAVAILABLE.
   */
  dropSlice(slice: SliceRef): Promise<void>;

  /**
   * Removes the rest of a namespace whose slices are all dropped, including the record of them: its
   * id is never used again. Repeating it does nothing.
   */
  dropNamespace(namespaceId: string): Promise<void>;

  /**
   * Stores events of one slice; they are durable when it resolves. Storing the same identity
   * (series, time, id) again replaces the event: one of the versions survives whole.
   *
   * Rejects with STORAGE_UNAVAILABLE if certainly nothing was stored, OUTCOME_UNKNOWN if some may
   * have been.
   */
  append(slice: SliceRef, events: readonly PlacedEvent[], level?: ServiceLevel): Promise<void>;

  /**
   * The events of a partition within a range, in order, as bounded runs, each fetched on demand.
   * Includes at least every event whose append had resolved when the scan began. Empty for a slice
   * or partition that does not exist. Rejects with DATA_LOSS instead of returning bytes that it
   * cannot vouch for.
   */
  scan(partition: PartitionKey, range: ScanRange, signal: AbortSignal): AsyncIterable<Run>;

  /**
   * The nearest time bucket in which a series has an event; undefined if it has none there. Sees at
   * least every event whose append had resolved when the search began. Only for engines that find
   * it in one step, however many buckets are between.
   */
  findTimeBucket?(
    series: SeriesRef,
    buckets: BucketSearch,
    signal: AbortSignal,
  ): Promise<number | undefined>;

  /**
   * Stores blocks of one part of a split (`partition` is a partition of a split table, itself a
   * slice); they are durable when it resolves. Storing the same key again replaces the block.
   */
  appendBlocks(
    partition: PartitionKey,
    blocks: readonly StoredBlock[],
    level?: ServiceLevel,
  ): Promise<void>;

  /**
   * The blocks of a part in order of their keys, fetch by fetch, each on demand. Empty for a part
   * that does not exist.
   */
  scanBlocks(
    partition: PartitionKey,
    range: BlockRange,
    signal: AbortSignal,
  ): AsyncIterable<readonly StoredBlock[]>;

  /**
   * One page of a walk over the partitions of a slice. Pages that continue each other have every
   * partition that existed when the walk began exactly once, and partitions made meanwhile at most
   * once. Reads at least a local majority of the replicas. Empty for a slice that does not exist.
   * A damaged partition is listed as such; any other failure rejects, and the page can be asked for
   * again.
   */
  walkPartitions(slice: SliceRef, walk: WalkRequest, signal: AbortSignal): Promise<WalkPage>;

  /**
   * The ids of a slice that begin with a prefix. Only for engines that find each in one step,
   * however many events are between. Empty for a slice that does not exist. Rejects with DATA_LOSS
   * at a damaged entry.
   */
  listIds?(slice: SliceRef, search: IdSearch, signal: AbortSignal): Promise<IdPage>;

  sliceStats(slice: SliceRef): Promise<SliceStats>;

  /**
   * Whether the slice certainly holds no event, so that nothing is lost by dropping it at once.
   * False also if the engine cannot tell cheaply.
   */
  isEmpty(slice: SliceRef): Promise<boolean>;

  /** Waits for calls under way and releases everything. */
  close(): Promise<void>;
}
