/**
 * The sizes of a slice's partitions, as a walk of the slice found them: a plain value, stored in
 * the catalog as it is (`records/histogram-records.ts`), kept as long as the namespace.
 *
 * Bytes are bytes of events as the API frames them, the same on every engine: what reads count
 * against `widePartition.bytesMax` and what splits record. Pure.
 *
 * A tuner reads `sealed` and `complete` first: only a complete walk of a sealed slice shows sizes
 * that no longer change. It decides by `timeBuckets`, which has each (id, time bucket) with all its
 * event buckets together: an id with a factor has many small partitions, but its time bucket is as
 * large as ever. Divide by `timePartition.eventBuckets` for the partitions that the base alone
 * would make. `widened` answers "what if the time bucket were wider" from the same events.
 */
import type { TimePartition } from "./namespace-config.ts";
import { SizeHistogram } from "./size-histogram.ts";
import type { Distribution } from "./size-histogram.ts";

/** Sizes of one kind of unit: partitions, or time buckets of an id. */
export interface UnitSizes {
  readonly bytes: Distribution;
  readonly events: Distribution;
}

/** The sizes of (id, time bucket) if the time bucket were this wide. */
export interface WidenedSizes {
  readonly secondsPerTimeBucket: number;
  readonly bytes: Distribution;
}

/** What a walk did not count, for people and for decisions. */
export interface WalkOmissions {
  /** Partitions whose size was not counted: a sample of the ids stands for them. */
  readonly notCounted: number;
  /** Partitions that were counted in part, the rest estimated from their time range. */
  readonly estimated: number;
  /** Partitions that could not be read: damaged, or the storage failed. */
  readonly failed: number;
}

export interface SliceHistogram {
  readonly timeSlice: string;
  /** Event time in microseconds: includes the start, excludes the end. */
  readonly start: number;
  readonly end: number;
  /** The partitioning frozen in the slice: `eventBuckets` is the base, before id factors. */
  readonly timePartition: TimePartition;
  /** Where the numbers come from. */
  readonly source: "WALK";
  /** When the walk began and ended, in microseconds. */
  readonly asOf: number;
  readonly endedAt: number;
  /** The whole slice lay below the settled floor when the walk began: its events cannot change. */
  readonly sealed: boolean;
  /** Of the namespace, when the walk began. A later epoch may have re-opened the slice. */
  readonly epoch: number;
  /** The slice was re-opened after a walk had found it sealed: much of it may be a backfill. */
  readonly filledLater?: boolean | undefined;
  /** False: the walk ended at its time limit, and later partitions are missing. */
  readonly complete: boolean;
  /** The share of the ids whose partitions were counted; numbers stand for all ids. */
  readonly sampleShare: number;
  readonly omissions: WalkOmissions;
  /** One partition each: id, time bucket, event bucket. */
  readonly partitions: UnitSizes;
  /** One (id, time bucket) each, all its event buckets together: sizes before id factors. */
  readonly timeBuckets: UnitSizes;
  /** By width, from the next wider one that divides the slice to the slice itself. */
  readonly widened: readonly WidenedSizes[];
}

/** The percentiles that `nodetool tablehistograms` prints, and that Braid shows everywhere. */
export interface Percentiles {
  readonly min: number;
  readonly p50: number;
  readonly p75: number;
  readonly p95: number;
  readonly p98: number;
  readonly p99: number;
  readonly max: number;
}

export function percentilesOf(distribution: Distribution): Percentiles {
  const histogram = SizeHistogram.of(distribution);
  return {
    min: distribution.min,
    p50: histogram.percentile(0.5),
    p75: histogram.percentile(0.75),
    p95: histogram.percentile(0.95),
    p98: histogram.percentile(0.98),
    p99: histogram.percentile(0.99),
    max: distribution.max,
  };
}

/** What the numbers leave out, in words; empty if nothing. */
export function exclusionsOf(
  histogram: Pick<SliceHistogram, "complete" | "sealed" | "sampleShare" | "omissions">,
): string[] {
  const { complete, sealed, sampleShare, omissions } = histogram;
  const { notCounted, estimated, failed } = omissions;
  const excluded: string[] = [];
  if (!sealed) excluded.push("events written after the walk passed: the slice still takes events");
  if (!complete) excluded.push("partitions behind the point where the walk reached its time limit");
  if (notCounted > 0) {
    const share = (sampleShare * 100).toPrecision(2);
    excluded.push(`${notCounted} partitions that a sample of ${share} % of the ids stands for`);
  }
  if (estimated > 0) excluded.push(`the exact size of ${estimated} partitions counted in part`);
  if (failed > 0) excluded.push(`${failed} partitions that could not be read`);
  return excluded;
}
