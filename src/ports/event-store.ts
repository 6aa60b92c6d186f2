/**
 * Where events are kept. Every engine passes the suite in `tests/conformance/event-store.ts`.
 *
 * The engine may hold on to what it is given only until the call ends, and what it hands out stays
 * valid for as long as the caller keeps it.
 */
import type { Micros } from "../lib/time-units.ts";
import type { LatencyTargets, NamespaceConfig } from "../model/namespace-config.ts";
import type { PartitionKey, SliceRef } from "../model/partition.ts";
import type { EventBytes } from "../wire/event-record.ts";
import type { Position, Run } from "../wire/frames.ts";

/** An event with its place inside the slice. */
export interface PlacedEvent {
  readonly event: EventBytes;
  readonly timeBucket: number;
  readonly eventBucket: number;
}

/**
 * What a namespace asks of its storage: how sure and how soon. An engine on one machine has no choice
 * to make and does not look at it.
 */
export interface ServiceLevel extends LatencyTargets {
  /** ALL asks every replica: for whoever must not miss what was written with less (rules C5 and C14). */
  readonly consistency: NamespaceConfig["consistency"] | "ALL";
}

export type Order = "NEWEST_FIRST" | "OLDEST_FIRST";

export interface ScanRange {
  /** Event time in microseconds; `from` belongs to the range, `to` does not. */
  readonly from: Micros;
  readonly to: Micros;
  readonly order: Order;
  /** Go on behind this position (in the order of the scan), which itself is left out. */
  readonly after: Position | undefined;
  /** No run has more events than this. */
  readonly runEventsMax: number;
  /** No run has more bytes than this, but for one that is a single larger event. */
  readonly runBytesMax: number;
  readonly level?: ServiceLevel;
}

/** A stored block of events of a sealed part: the store looks at its key only. */
export interface StoredBlock {
  /** The position of the block's oldest event: what it is found by. */
  readonly key: Position;
  readonly bytes: Uint8Array;
  /** Every byte was held against a checksum by the store when it was read: nobody need do it again. */
  readonly checked?: true;
}

export interface BlockRange {
  readonly order: Order;
  /**
   * The first block is the one with the greatest key at or before this (the only one that can hold it),
   * in either order; undefined begins at the end of the part. OLDEST_FIRST, and no such block: the oldest.
   */
  readonly at: Position | undefined;
  /** OLDEST_FIRST: no block with a key at or behind this. NEWEST_FIRST: none behind the first block with a key at or before this. */
  readonly until: Position | undefined;
  /** How many blocks the first fetch asks for; the following ones ask for as many as fit. */
  readonly firstBlocks: number;
  /** No fetch has more bytes than this, but for one block. */
  readonly fetchBytesMax: number;
  /** No block of the part is larger. */
  readonly blockBytesMax: number;
  readonly level?: ServiceLevel;
}

export interface SliceStats {
  /** On disk, about. */
  readonly bytes: number;
  /** Written, repeats included. */
  readonly events: number;
}

export interface EventStore {
  /** Makes room for a slice. Repeating it does nothing. A dropped slice is never made again: CONFLICT. */
  createSlice(slice: SliceRef): Promise<void>;

  /** Removes a slice with its events and gives the space back. Repeating it does nothing. Scans still running end, or fail with STORAGE_UNAVAILABLE. */
  dropSlice(slice: SliceRef): Promise<void>;

  /**
   * Removes what is left of a namespace whose slices are all dropped, also the memory of them: its id
   * is never used again. Repeating it does nothing.
   */
  dropNamespace(namespaceId: string): Promise<void>;

  /**
   * Stores events of one slice; when it resolves they are durable. The same identity (series, time, id)
   * again replaces the event: one of the versions survives whole.
   *
   * Rejects with STORAGE_UNAVAILABLE if certainly nothing was stored, OUTCOME_UNKNOWN if some may have been.
   */
  append(slice: SliceRef, events: readonly PlacedEvent[], level?: ServiceLevel): Promise<void>;

  /**
   * The events of a partition within a range, in order, as bounded runs, each fetched when asked for.
   * Sees at least every event whose append had resolved when the scan began. Empty for a slice or
   * partition that is not there. Rejects with DATA_LOSS rather than hand out bytes it cannot vouch for.
   */
  scan(partition: PartitionKey, range: ScanRange, signal: AbortSignal): AsyncIterable<Run>;

  /**
   * Stores blocks of one part of a split (`partition` is a partition of a split table, itself a slice);
   * when it resolves they are durable. The same key again replaces the block.
   */
  appendBlocks(
    partition: PartitionKey,
    blocks: readonly StoredBlock[],
    level?: ServiceLevel,
  ): Promise<void>;

  /** The blocks of a part in order of their keys, fetch by fetch, each fetched when asked for. Empty for a part that is not there. */
  scanBlocks(
    partition: PartitionKey,
    range: BlockRange,
    signal: AbortSignal,
  ): AsyncIterable<readonly StoredBlock[]>;

  sliceStats(slice: SliceRef): Promise<SliceStats>;

  /** Waits for what is under way and lets go of everything. */
  close(): Promise<void>;
}
