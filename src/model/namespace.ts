/** A namespace as the catalog holds it, and a server's view of it. */
import type { NamespaceConfig } from "./namespace-config.ts";
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
  /** Raised by every change of this record. */
  readonly version: number;
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
  readonly askedAtMs: number;
}

/** Whether reads and writes of an id are refused now. */
export function blockOf(view: NamespaceView, seriesId: string, nowMicros: number): BlockedId | undefined {
  if (view.blocked.size === 0) return undefined;
  const block = view.blocked.get(seriesId);
  if (block === undefined) return undefined;
  return block.expiresAt === undefined || nowMicros < block.expiresAt ? block : undefined;
}
