/**
 * A split: the copy of a wide partition's sealed time into small parts, and how far it has come.
 *
 * A partition's split consists of segments, one behind the other in event time from the start of the
 * partition's bucket. Each has a frozen range (rule C7), and only the newest can be unfinished. The parts
 * of a segment are listed when they are written whole (rule C8); what is not listed is garbage.
 */
import type { SplitLayout } from "./layouts.ts";
import type { MoveCause } from "./move-cause.ts";
import type { PartitionKey, SliceRef } from "./partition.ts";
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
  /** Event time it covers, `from` included, `to` not. Parts that are not ordered cover all of it. */
  readonly from: number;
  readonly to: number;
  /** Of the events' frames. */
  readonly bytes: number;
  readonly events: number;
  /** How many blocks; 0 where the layout has none. */
  readonly blocks: number;
  /** No stored block is larger; 0 where the layout has none. */
  readonly blockBytesMax: number;
  /** Of its events, newest first: see `parts/range-digest.ts`. */
  readonly digest: string;
}

export interface Segment {
  /** Event time it covers: frozen before anything is copied. */
  readonly from: number;
  readonly to: number;
  readonly state: "PLANNED" | "SPLITTING" | "VALIDATING" | "COMPLETED" | "FAILED";
  /** Of the partition's copies; a copy that begins again gets the next. Blocks carry it. */
  readonly generation: number;
  readonly layout: SplitLayout;
  readonly strategy: SplitStrategyName;
  /** Why it is split, and why so: the planner's words. */
  readonly why: string;
  /** A part is closed when it holds this much; above the namespace's target where `maxParts` binds. */
  readonly partBytes: number;
  /** For strategies that are told in advance how many; 0 where parts are cut when full. */
  readonly partsPlanned: number;
  /** The listed parts, in order. */
  readonly partRanges: readonly PartNumberRange[];
  /** The checkpoint: [copiedTo, to) is in listed parts. */
  readonly copiedTo: number;
  /** Of the listed parts. */
  readonly bytes: number;
  readonly events: number;
  /** Of all parts together, when all are listed; "" before. */
  readonly checksum: string;
  /** When a second, separate read of the original agreed (rule C6); null: nobody may be served yet. */
  readonly confirmedAt: number | null;
}

export interface SplitMove {
  /** Microseconds. */
  readonly at: number;
  /** Which process, or which person. */
  readonly by: string;
  /** Null: there was no record. */
  readonly from: SplitState | null;
  readonly to: SplitState;
  /** For code. */
  readonly cause: MoveCause;
  /** For people. */
  readonly reason: string;
  /** How often in a row it ended so. A repeat takes the place of the one before it. */
  readonly times: number;
}

/** Read latencies seen on a partition, in milliseconds, for people: 0 where nothing was seen. */
export interface SeenLatency {
  readonly reads: number;
  readonly meanMs: number;
  readonly maxMs: number;
}

export interface SplitRecord {
  readonly partition: PartitionKey;
  /** The namespace's name, for readers that found the record first. */
  readonly namespace: string;
  readonly state: SplitState;
  /** Of the namespace. A route is served only while the namespace still has this epoch (rule C3). */
  readonly epoch: number;
  /** What the detection saw, at least. */
  readonly bytes: number;
  readonly events: number;
  readonly immutable: boolean;
  readonly detectedAt: number;
  /** By time, without a gap from the start of the bucket. */
  readonly segments: readonly Segment[];
  /** Raised whenever someone takes the split over. */
  readonly fence: number;
  /** Who works on it. `heartbeat` moves while they live; wall clocks are not compared (rule C16). */
  readonly owner: { readonly by: string; readonly heartbeat: number } | null;
  /** The next number of a part: raised to reserve one, before it is used (rule C8). */
  readonly nextPart: number;
  /** Given to the next copy. */
  readonly nextGeneration: number;
  /** Mismatches in a row. Outages do not count (rule C16). */
  readonly failures: number;
  /** When a sweeper looks at it again; null: nothing is scheduled. */
  readonly dueAt: number | null;
  /** An operator, or Braid, holds it: only an operator's retry continues it (rule C17). */
  readonly heldBy: string | null;
  /** The operator who asked for it since it last began; null: a detection did. */
  readonly askedBy: string | null;
  /** The operator wants it split although it is not wide. */
  readonly forced?: boolean | undefined;
  readonly latency: { readonly before: SeenLatency; readonly after: SeenLatency };
  /** Oldest first; beyond a bound those in the middle are left out. */
  readonly history: readonly SplitMove[];
  /** 0: not written yet. */
  readonly version: number;
}

export const NO_LATENCY: SeenLatency = { reads: 0, meanMs: 0, maxMs: 0 };

/** What servers follow: the completed segments, and nothing else (rule C19). */
export interface RouteRecord {
  readonly partition: PartitionKey;
  readonly epoch: number;
  /** The version of the split it was taken from: an older one never replaces a newer (C8's late riser). */
  readonly of: number;
  /** Contiguous from the start of the bucket. None: not split (any more). */
  readonly segments: readonly RouteSegment[];
}

export interface RouteSegment {
  readonly from: number;
  readonly to: number;
  readonly generation: number;
  readonly layout: SplitLayout;
  readonly strategy: SplitStrategyName;
  readonly partRanges: readonly PartNumberRange[];
  readonly bytes: number;
  readonly events: number;
  readonly confirmed: boolean;
}

/** The completed segments that join without a gap, from the first one on (rule C10). */
export function routeOf(record: SplitRecord): Omit<RouteRecord, "partition"> {
  const segments: RouteSegment[] = [];
  for (const segment of record.segments) {
    const before = segments.at(-1);
    if (segment.state !== "COMPLETED") break;
    if (before !== undefined && before.to !== segment.from) break;
    segments.push(routeSegmentOf(segment));
  }
  return { epoch: record.epoch, of: record.version, segments };
}

/** What readers need of a segment. */
export function routeSegmentOf(segment: Segment): RouteSegment {
  const { from, to, generation, layout, strategy, partRanges, bytes, events } = segment;
  const confirmed = segment.confirmedAt !== null;
  return { from, to, generation, layout, strategy, partRanges, bytes, events, confirmed };
}

/** The end of the contiguous completed time; `start` if there is none. */
export function coveredTo(record: SplitRecord, start: number): number {
  return routeOf(record).segments.at(-1)?.to ?? start;
}

/** Parts of one original partition that can ever be numbered. */
export const PARTS_PER_PARTITION = 1 << 20;

/**
 * The table of a slice's parts, as the store knows it: a slice of its own, made and dropped with the
 * slice. The number counts tables of one slice; one is enough.
 */
export function splitTableOf(slice: SliceRef): SliceRef {
  return { namespaceId: slice.namespaceId, slice: `wide_${slice.slice}_0` };
}

/**
 * Where a part lies. Its event bucket is unique among all parts of the series and time bucket, whichever
 * event bucket they were split from, so that no two splits ever meet.
 */
export function partKey(partition: PartitionKey, part: number): PartitionKey {
  return {
    ...splitTableOf(partition),
    seriesId: partition.seriesId,
    timeBucket: partition.timeBucket,
    eventBucket: partition.eventBucket * PARTS_PER_PARTITION + part,
  };
}
