/** A namespace as the catalog holds it, and a server's view of it. */
import type { NamespaceConfig } from "./namespace-config.ts";
import type { IdStrategyStep, ReadModeState } from "./read-mode.ts";
import type { TimeSlice } from "./time-slice.ts";

export interface Namespace {
  readonly name: string;
  /** Made anew with each namespace, also under an old name. */
  readonly id: string;
  readonly config: NamespaceConfig;
  /** Raised by every change that opens sealed time again. */
  readonly epoch: number;
  /**
   * Event time below it is sealed: no server accepts an event there. Stored, not computed from a
   * clock, and only rising within an epoch (rule C1).
   */
  readonly floor: number;
  readonly createdAt: number;
  readonly readMode: ReadModeState;
  /** No split goes on while it is paused. */
  readonly splitsPaused: SplitsPaused | null;
  /** Whether it was ever written at less than a majority: then a copy must ask every replica (rule C5). */
  readonly everEventual: boolean;
  /** Raised by every change of this record. */
  readonly version: number;
}

export interface SplitsPaused {
  readonly at: number;
  readonly by: string;
  readonly reason: string;
}

export interface BlockedId {
  readonly seriesId: string;
  readonly reason: string;
  /** Microseconds; undefined means never. */
  readonly expiresAt: number | undefined;
  readonly blockedAt: number;
  readonly source: "API" | "CONFIG";
}

/**
 * A server's copy of what it needs to know of a namespace. It has an age: from the moment it was
 * *asked for*, on the server's own monotonic clock.
 */
export interface NamespaceView {
  readonly namespace: Namespace;
  /** The OPEN slices, by start. */
  readonly slices: readonly TimeSlice[];
  readonly blocked: ReadonlyMap<string, BlockedId>;
  /** Of ids that have more event buckets than their slice: by time, oldest first. */
  readonly idStrategies: ReadonlyMap<string, readonly IdStrategyStep[]>;
  readonly askedAtMs: number;
}

/** Whether reads and writes of an id are refused now. */
export function blockOf(
  view: NamespaceView,
  seriesId: string,
  nowMicros: number,
): BlockedId | undefined {
  if (view.blocked.size === 0) return undefined;
  const block = view.blocked.get(seriesId);
  if (block === undefined) return undefined;
  return block.expiresAt === undefined || nowMicros < block.expiresAt ? block : undefined;
}

/** What both a read and a write of a blocked id are told. */
export function blockedMessage(block: BlockedId): string {
  const why = block.reason === "" ? "" : `: ${block.reason}`;
  return `this timeSeriesId is blocked${why}; unblock it, or wait until the block expires`;
}

/** Where the views come from. */
export interface ViewSource {
  /** The view if this process has one that is young enough to act on, at no cost. */
  current(name: string): NamespaceView | undefined;
  /** The same, fetched if need be. Rejects with NAMESPACE_NOT_FOUND, or STORAGE_UNAVAILABLE if none young enough is to be had. */
  get(name: string): Promise<NamespaceView>;
}

/** An internal id is the name and what makes it unique. */
export function namespaceNameOf(namespaceId: string): string {
  return namespaceId.slice(0, namespaceId.lastIndexOf("-"));
}
