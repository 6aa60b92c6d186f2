/** A namespace as the catalog holds it, and a server's view of it. */
import type { EpochStarts } from "./epochs.ts";
import type { NamespaceConfig } from "./namespace-config.ts";
import type { ProvisionedPlan } from "./partition-plan.ts";
import type { IdStrategyStep, ReadModeState } from "./read-mode.ts";
import type { TimeSlice } from "./time-slice.ts";

export interface Namespace {
  readonly name: string;
  /** Every namespace gets a new one, also under a name that was used before. */
  readonly id: string;
  readonly config: NamespaceConfig;
  /** Raised by every change that re-opens sealed time. */
  readonly epoch: number;
  /** The floors with which epochs began, as far as a split may depend on them (rule C3). */
  readonly epochStarts: EpochStarts;
  /** A re-opening between its first and its last step (rule C3). */
  readonly reopening: Reopening | null;
  /**
   * Event time below it is sealed: no server accepts an event there. It is stored, not computed
   * from a clock, and only rises within an epoch (rule C1).
   */
  readonly floor: number;
  readonly createdAt: number;
  readonly readMode: ReadModeState;
  /** No split proceeds while they are paused. */
  readonly splitsPaused: SplitsPaused | null;
  /**
   * Whether it was ever written at less than a majority: then a copy must ask every replica (rule
   * C5).
   */
  readonly everEventual: boolean;
  /** What was expected of its partitioning when it was created from a workload. */
  readonly provisioned?: ProvisionedPlan | undefined;
  /** Raised by every change of this record. */
  readonly version: number;
}

/** Time that a new epoch opens, and that no server accepts events for yet. */
export interface Reopening {
  /** The limit that comes into force with the last step. */
  readonly acceptLimitMicros: number;
  /**
   * The floor before the epoch. Until the last step no server accepts an event below it: some may
   * still follow splits of that time.
   */
  readonly sealedBelow: number;
}

/** No server accepts an event before this time, whatever acceptLimit is. */
export function closedBelow({ floor, reopening }: Pick<Namespace, "floor" | "reopening">): number {
  return reopening === null ? floor : Math.max(floor, reopening.sealedBelow);
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
 * A server's copy of the data it needs of a namespace. Its age counts from the moment it was
 * *requested*, on the server's own monotonic clock.
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

/** The block that refuses reads and writes of an id now, if there is one. */
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

/** The message for a read or a write of a blocked id. */
export function blockedMessage(block: BlockedId): string {
  const why = block.reason === "" ? "" : `: ${block.reason}`;
  return `this timeSeriesId is blocked${why}; unblock it, or wait until the block expires`;
}

/** Supplies views. */
export interface ViewSource {
  /** The cached view if it is young enough to act on, without a fetch. */
  current(name: string): NamespaceView | undefined;
  /**
   * Like `current`, but fetches a view if necessary. Rejects with NAMESPACE_NOT_FOUND, or with
   * STORAGE_UNAVAILABLE if it cannot get one that is young enough.
   */
  get(name: string): Promise<NamespaceView>;
}

/** An internal id is the name and a unique suffix. */
export function namespaceNameOf(namespaceId: string): string {
  return namespaceId.slice(0, namespaceId.lastIndexOf("-"));
}
