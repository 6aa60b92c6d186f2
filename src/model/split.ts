/**
 * A split: the copy of a wide partition's sealed time into small parts, and its progress.
 *
 * A partition's split consists of segments, one behind the other in event time from the start of
 * the partition's bucket. Each has a frozen range (rule C7), and only the newest can be unfinished.
 * The parts of a segment are listed when they are written whole (rule C8); an unlisted part is
 * garbage.
 */
import { isSealed } from "./epochs.ts";
import type { SplitLayout } from "./layouts.ts";
import type { MoveCause } from "./move-cause.ts";
import type { Namespace } from "./namespace.ts";
import type { PartitionKey, SliceRef } from "./partition.ts";
import type { Distribution } from "./size-histogram.ts";
import type { SplitStrategyName } from "./strategies/strategies.ts";

export const SPLIT_STATES = [
  "DETECTED",
  "PLANNING",
  "PLANNED",
  "SPLITTING",
  "VALIDATING",
  "COMPLETED",
  "PARKED",
  "REFUSED",
  "FAILED",
  "INVALIDATED",
] as const;

export type SplitState = (typeof SPLIT_STATES)[number];

/** Consecutive numbers of parts, in the order in which they were written: the newest time first. */
export interface PartNumberRange {
  readonly start: number;
  readonly count: number;
}

/** A part that was written whole. Once listed it never changes. */
export interface PartRecord {
  /** Its event bucket in the split table. Never used twice. */
  readonly part: number;
  /**
   * The event time it covers, including `from`, excluding `to`. Parts of a spread strategy cover
   * all of it.
   */
  readonly from: number;
  readonly to: number;
  /** Of the events' frames. */
  readonly bytes: number;
  readonly events: number;
  /** The number of blocks; 0 where the layout has none. */
  readonly blocks: number;
  /** No stored block is larger; 0 where the layout has none. */
  readonly blockBytesMax: number;
  /** Of its events, newest first: see `parts/range-digest.ts`. */
  readonly digest: string;
}

export interface Segment {
  /** The event time it covers: frozen before anything is copied. */
  readonly from: number;
  readonly to: number;
  /** The namespace's epoch in which the range was frozen. It never changes (rule C3). */
  readonly epoch: number;
  readonly state: "PLANNED" | "SPLITTING" | "VALIDATING" | "COMPLETED" | "FAILED";
  /** The number of this copy; a recopy gets the next. Blocks carry it. */
  readonly generation: number;
  readonly layout: SplitLayout;
  readonly strategy: SplitStrategyName;
  /** Why the planner splits the range, and why in this way; for people. */
  readonly why: string;
  /**
   * A part is closed when it holds this much; above the namespace's target where `maxParts` binds.
   */
  readonly partBytes: number;
  /** For strategies that need the number of parts in advance; 0 where parts are cut when full. */
  readonly partsPlanned: number;
  /** What the planner expects to copy; absent in a plan of a version that did not keep it. */
  readonly expected?: ExpectedAmount | undefined;
  /** The listed parts, in order. */
  readonly partRanges: readonly PartNumberRange[];
  /** The checkpoint: [copiedTo, to) is in listed parts. */
  readonly copiedTo: number;
  /** Of the listed parts. */
  readonly bytes: number;
  readonly events: number;
  /**
   * What the pass over the original gave, of all parts together, when all are listed; "" before
   * that.
   */
  readonly checksum: string;
  /**
   * What the parts gave when they were read back; absent before that, and in a copy of a version
   * that did not keep it. A segment gets it once, for its generation, and a recopy is a new segment.
   */
  readonly copyChecksum?: string | undefined;
  /**
   * How large the parts are, when all are listed; absent before that, and in a copy of a version
   * that did not keep it.
   */
  readonly partSizes?: Distribution | undefined;
  /**
   * When a second, separate read of the original agreed (rule C6); null: it may not be served yet.
   */
  readonly confirmedAt: number | null;
}

/** An amount to copy, for progress. */
export interface ExpectedAmount {
  readonly bytes: number;
  readonly events: number;
  /** The planner has read the whole range. Otherwise there may be more. */
  readonly exact: boolean;
}

/** What a worker does with a segment's bytes, in order: it reads all of them in each step. */
export const SPLIT_STEPS = ["COPY", "VALIDATE", "CONFIRM"] as const;
export type SplitStep = (typeof SPLIT_STEPS)[number];

/** How far the owner has come in its step, as of its last heartbeat. */
export interface StepProgress {
  readonly step: SplitStep;
  readonly bytes: number;
  readonly events: number;
}

/** The worker on a split. `heartbeat` rises while that process lives (rule C16). */
export interface SplitOwner {
  readonly by: string;
  readonly heartbeat: number;
  readonly progress?: StepProgress | undefined;
}

export interface SplitMove {
  /** Microseconds. */
  readonly at: number;
  /** The process or person. */
  readonly by: string;
  /** Null: there was no record. */
  readonly from: SplitState | null;
  readonly to: SplitState;
  /** For code. */
  readonly cause: MoveCause;
  /** For people. */
  readonly reason: string;
  /** How often in a row it ended this way. A repeat replaces the previous entry. */
  readonly times: number;
}

/** Read latencies of a partition, in milliseconds, for people: 0 where none was measured. */
export interface SeenLatency {
  readonly reads: number;
  readonly meanMs: number;
  readonly maxMs: number;
}

export interface SplitRecord {
  readonly partition: PartitionKey;
  /** The namespace's name, for readers of the record alone. */
  readonly namespace: string;
  readonly state: SplitState;
  /** The namespace's epoch when the split last began. Each segment has its own. */
  readonly epoch: number;
  /** The size that the detection saw: a lower bound. */
  readonly bytes: number;
  readonly events: number;
  readonly immutable: boolean;
  readonly detectedAt: number;
  /** By time, without a gap from the start of the bucket. */
  readonly segments: readonly Segment[];
  /** Raised by every takeover of the split. */
  readonly fence: number;
  readonly owner: SplitOwner | null;
  /**
   * The next number of a part. A worker that reserves a number raises it before using the number
   * (rule C8).
   */
  readonly nextPart: number;
  /** The generation of the next copy. */
  readonly nextGeneration: number;
  /** Mismatches in a row. Outages do not count (rule C16). */
  readonly failures: number;
  /** When a sweeper returns to it; null: nothing is scheduled. */
  readonly dueAt: number | null;
  /** An operator, or Braid, holds it: only an operator's retry resumes it (rule C17). */
  readonly heldBy: string | null;
  /** The operator who requested it, since it last began; null: a detection started it. */
  readonly askedBy: string | null;
  /** The operator wants it split although it is not wide. */
  readonly forced?: boolean | undefined;
  readonly latency: { readonly before: SeenLatency; readonly after: SeenLatency };
  /** Oldest first; beyond a bound, entries in the middle are left out. */
  readonly history: readonly SplitMove[];
  /** 0: not written yet. */
  readonly version: number;
}

export const NO_LATENCY: SeenLatency = { reads: 0, meanMs: 0, maxMs: 0 };

/** What servers follow: the completed segments, and nothing else (rule C19). */
export interface RouteRecord {
  readonly partition: PartitionKey;
  /**
   * The version of the split it was derived from: an older one never replaces a newer one, so a
   * late publisher changes nothing.
   */
  readonly of: number;
  /** Contiguous from the start of the bucket. Empty: not split, or no longer. */
  readonly segments: readonly RouteSegment[];
}

export interface RouteSegment {
  readonly from: number;
  readonly to: number;
  /** Served only if no later epoch has opened its time (`epochs.ts`). */
  readonly epoch: number;
  readonly generation: number;
  readonly layout: SplitLayout;
  readonly strategy: SplitStrategyName;
  readonly partRanges: readonly PartNumberRange[];
  readonly bytes: number;
  readonly events: number;
  readonly confirmed: boolean;
}

/** The completed segments that join without a gap, beginning with the first (rule C10). */
export function routeOf(record: SplitRecord): Omit<RouteRecord, "partition"> {
  const segments: RouteSegment[] = [];
  for (const segment of record.segments) {
    const before = segments.at(-1);
    if (segment.state !== "COMPLETED") break;
    if (before !== undefined && before.to !== segment.from) break;
    segments.push(routeSegmentOf(segment));
  }
  return { of: record.version, segments };
}

/** The fields of a segment that readers need. */
export function routeSegmentOf(segment: Segment): RouteSegment {
  const { from, to, epoch, generation, layout, strategy, partRanges, bytes, events } = segment;
  const confirmed = segment.confirmedAt !== null;
  return { from, to, epoch, generation, layout, strategy, partRanges, bytes, events, confirmed };
}

/** The segments before the first whose time was opened again since it was frozen. */
export function sealedSegments(
  { segments }: Pick<SplitRecord, "segments">,
  { epochStarts }: Reopenings,
): readonly Segment[] {
  const opened = segments.findIndex((segment) => !isSealed(epochStarts, segment));
  return opened < 0 ? segments : segments.slice(0, opened);
}

/** The end of the contiguous, completed and sealed time; `start` if there is none. */
export function coveredTo(record: SplitRecord, start: number, reopenings: Reopenings): number {
  const segments = sealedSegments(record, reopenings);
  return routeOf({ ...record, segments }).segments.at(-1)?.to ?? start;
}

type Reopenings = Pick<Namespace, "epochStarts">;

/** The range of part numbers of one original partition. */
export const PARTS_PER_PARTITION = 1 << 20;

/**
 * The table of a slice's parts, as the store addresses it: a slice of its own, made and dropped
 * with the slice. The number counts the split tables of one slice; one is enough.
 */
export function splitTableOf(slice: SliceRef): SliceRef {
  return { namespaceId: slice.namespaceId, slice: `wide_${slice.slice}_0` };
}

/**
 * Where a part lies. Its event bucket is unique among all parts of the series and time bucket,
 * whichever event bucket they were split from, so that no two splits share a partition.
 */
export function partKey(partition: PartitionKey, part: number): PartitionKey {
  return {
    ...splitTableOf(partition),
    seriesId: partition.seriesId,
    timeBucket: partition.timeBucket,
    eventBucket: partition.eventBucket * PARTS_PER_PARTITION + part,
  };
}
