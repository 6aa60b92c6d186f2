/**
 * The partitioning of future slices that brings partitions to the wanted size in one step. Pure.
 *
 * Wider: the fullest partitions that stay below the limit in every slice of the evidence. It gives
 * up event buckets, takes wider time buckets, and takes wider slices only where a bucket outgrows
 * the present ones. Narrower: the widest bucket whose partitions stay below the limit in the newest
 * slice. Where that does not help, because ids write in bursts or even the narrowest bucket is too
 * wide, more event buckets.
 */
import { Problems } from "../lib/problems.ts";
import { checkConfig } from "../model/check-config.ts";
import type { NamespaceConfig, TimePartition } from "../model/namespace-config.ts";
import { BUCKET_WIDTHS, SLICE_WIDTHS } from "../model/partition-widths.ts";
import { commonWidthSeconds } from "../model/plan-slices.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import { DEAD_BAND } from "./judge-sizes.ts";
import type { SizePrediction } from "./predict-sizes.ts";

/** The limit is not approached closer than this: the next slice is never quite like the last. */
const FILL = 0.8;
const EVENT_BUCKETS_MAX = 64;
/**
 * A read of a short interval touches only the time buckets it needs, but every event bucket: so the
 * former may cost a whole read this many times as many partitions. Widths are up to six times apart.
 */
const TIME_BUCKETS_FIRST = 8;
/** A change of width that begins later than this would help nobody. */
const BOUNDARY_SECONDS_MAX = 31_536_000;

export interface Choice {
  readonly direction: "WIDEN" | "NARROW";
  readonly evidence: readonly SizePrediction[];
  readonly config: NamespaceConfig;
  readonly margins: TimeMargins;
  /** Seconds; slices that are longer than this and than the present ones are not considered. */
  readonly sliceMax: number;
}

/** Undefined if nothing is better than what is there. */
export function choosePartitioning(choice: Choice): TimePartition | undefined {
  return choice.direction === "WIDEN" ? wider(choice) : narrower(choice);
}

function wider({ evidence, config, margins, sliceMax }: Choice): TimePartition | undefined {
  const present = config.timePartition;
  const limit = config.tuning.densityMaxBytes * FILL;
  const fullest = (partitioning: TimePartition): number =>
    Math.max(...evidence.map((slice) => slice.under(partitioning).p99));
  const allowed = [...widerCandidates(present, sliceMax)]
    .filter((partitioning) => works(config, partitioning, margins))
    .map((partitioning) => ({ partitioning, bytes: fullest(partitioning) }))
    .filter(({ bytes }) => bytes <= limit);
  const most = Math.max(0, ...allowed.map(({ bytes }) => bytes));
  const [best] = allowed
    .filter(({ bytes }) => bytes * DEAD_BAND >= most)
    .map(({ partitioning }) => partitioning)
    .toSorted(byCost);
  return best !== undefined && partitionsRead(best) < partitionsRead(present) ? best : undefined;
}

/** Short slices, then few partitions for a read, then narrow buckets. */
function byCost(a: TimePartition, b: TimePartition): number {
  return (
    a.secondsPerTimeSlice - b.secondsPerTimeSlice ||
    partitionsRead(a) - partitionsRead(b) ||
    a.secondsPerTimeBucket - b.secondsPerTimeBucket
  );
}

/** How many partitions a read of one id touches for each second of its interval. */
function partitionsRead({ secondsPerTimeBucket, eventBuckets }: TimePartition): number {
  return eventBuckets / secondsPerTimeBucket;
}

function* widerCandidates(present: TimePartition, sliceMax: number): Generator<TimePartition> {
  const { secondsPerTimeSlice: slice, secondsPerTimeBucket: bucket } = present;
  const widthMax = Math.max(slice, sliceMax);
  const widths = [bucket, ...BUCKET_WIDTHS.filter((width) => width > bucket && width <= widthMax)];
  for (const secondsPerTimeBucket of widths) {
    const secondsPerTimeSlice =
      slice % secondsPerTimeBucket === 0
        ? slice
        : SLICE_WIDTHS.find((width) => width > slice && width % secondsPerTimeBucket === 0);
    if (secondsPerTimeSlice === undefined || secondsPerTimeSlice > widthMax) continue;
    for (const eventBuckets of halvings(present.eventBuckets)) {
      yield { secondsPerTimeSlice, secondsPerTimeBucket, eventBuckets };
    }
  }
}

function narrower({ evidence, config, margins }: Choice): TimePartition | undefined {
  const present = config.timePartition;
  const newest = evidence.at(-1);
  if (newest === undefined) return undefined;
  const limit = config.tuning.densityMaxBytes * FILL;
  const known = [...narrowerCandidates(present)]
    .filter((partitioning) => works(config, partitioning, margins))
    .map((partitioning) => ({ partitioning, bytes: newest.under(partitioning).p95 }));
  const least = Math.min(...known.map(({ bytes }) => bytes));
  const fitting = known.filter(({ bytes }) => bytes <= Math.max(limit, least));
  const cheapest = Math.min(...fitting.map(({ partitioning }) => partitionsRead(partitioning)));
  const [best] = fitting
    .map(({ partitioning }) => partitioning)
    .filter((partitioning) => partitionsRead(partitioning) <= cheapest * TIME_BUCKETS_FIRST)
    .toSorted(
      (a, b) => a.eventBuckets - b.eventBuckets || b.secondsPerTimeBucket - a.secondsPerTimeBucket,
    );
  const isSmaller = best !== undefined && newest.under(best).p95 < newest.present().p95;
  return isSmaller ? best : undefined;
}

function* narrowerCandidates(present: TimePartition): Generator<TimePartition> {
  const { secondsPerTimeSlice, secondsPerTimeBucket: bucket, eventBuckets } = present;
  const widths = BUCKET_WIDTHS.filter(
    (width) => width < bucket && secondsPerTimeSlice % width === 0,
  );
  for (const secondsPerTimeBucket of [...widths, bucket]) {
    for (let factor = 1; factor === 1 || eventBuckets * factor <= EVENT_BUCKETS_MAX; factor *= 2) {
      yield { secondsPerTimeSlice, secondsPerTimeBucket, eventBuckets: eventBuckets * factor };
    }
  }
}

/** What `UpdateNamespace` would accept, and what begins in a reasonable time. */
function works(
  config: NamespaceConfig,
  timePartition: TimePartition,
  margins: TimeMargins,
): boolean {
  const boundary = commonWidthSeconds(config.timePartition, timePartition);
  if (boundary > BOUNDARY_SECONDS_MAX) return false;
  const problems = new Problems();
  checkConfig({ ...config, timePartition }, margins, problems);
  return problems.count === 0;
}

/** 12, 6, 3, 1: whole factors, so that ids that have more of them keep a multiple. */
function halvings(eventBuckets: number): number[] {
  const found = [eventBuckets];
  for (let each = eventBuckets; each % 2 === 0; found.push(each)) each /= 2;
  if (found.at(-1) !== 1) found.push(1);
  return found;
}
