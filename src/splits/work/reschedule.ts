/** When a split is looked at again: pure. Times are in microseconds. */
import type { MoveCause } from "../../model/move-cause.ts";
import type { SplitMove, SplitRecord } from "../../model/split.ts";
import type { NamespaceConfig } from "../../model/namespace-config.ts";
import type { TimeMargins } from "../../model/time-margins.ts";

const SECOND = 1_000_000;
const OUTAGE_FIRST = 5 * SECOND;
const OUTAGE_MAX = 300 * SECOND;
/** Segments that may be of any length, and what share of all before it a further one is. */
const FREE_SEGMENTS = 16;
const RANGE_SHARE = 8;

/** A range that was found too small is not read again sooner. */
export const RANGE_MICROS_MIN = 30 * SECOND;
/** While something else has to come first and soon will. */
export const SOON_MICROS = 5 * SECOND;
/** A closed slice can be opened again, but hardly ever is. */
export const CLOSED_SLICE_MICROS = 3_600 * SECOND;

/** Causes of moves between two outages of one row; every other end of the work breaks it. */
const GOES_ON: readonly MoveCause[] = ["claim", "plan", "copy", "copied"];

/** How long after an outage: longer for each that came in a row. */
export function outageMicros(record: SplitRecord): number {
  return Math.min(OUTAGE_MAX, OUTAGE_FIRST * 2 ** Math.min(outagesInARow(record.history), 20));
}

function outagesInARow(history: readonly SplitMove[]): number {
  let outages = 0;
  for (const { cause } of history.toReversed()) {
    if (cause === "outage") outages++;
    else if (!GOES_ON.includes(cause)) break;
  }
  return outages;
}

/** When all of a bucket can be sealed and everybody knows it. */
function closedAt(bucketEnd: number, acceptMicros: number, margins: TimeMargins): number {
  return bucketEnd + acceptMicros + margins.clockSkew.micros + margins.settle.micros;
}

interface NextRange {
  readonly record: SplitRecord;
  readonly bucket: { readonly start: number; readonly end: number };
  readonly config: NamespaceConfig;
  readonly margins: TimeMargins;
  readonly nowMicros: number;
}

/**
 * When a further range of an open bucket may hold a target's worth; null: all of the bucket is
 * covered.
 */
export function nextRangeAt({
  record,
  bucket,
  config,
  margins,
  nowMicros,
}: NextRange): number | null {
  const newest = record.segments.at(-1);
  const coveredTo = newest?.to ?? bucket.start;
  if (coveredTo >= bucket.end) return null;
  const lag = closedAt(0, config.acceptLimitMicros, margins);
  const { bytes, micros } = growthOf(record, bucket.start);
  const needed = bytes > 0 ? (config.widePartition.targetBytes / bytes) * micros : 0;
  const least = shortestRange(record, bucket.start);
  const full = Math.min(coveredTo + Math.max(needed, least), bucket.end) + lag;
  return Math.ceil(Math.max(full, nowMicros + RANGE_MICROS_MIN));
}

/**
 * The least length of the next range of an open bucket. After some segments each further one is a
 * share of all before it, so that they stay few however long and busy the bucket is: a record holds
 * them all.
 */
export function shortestRange({ segments }: SplitRecord, bucketStart: number): number {
  if (segments.length < FREE_SEGMENTS) return 0;
  return ((segments.at(-1)?.to ?? bucketStart) - bucketStart) / RANGE_SHARE;
}

/**
 * How much came in how much of the bucket's time: what is split tells best, then what the detection
 * saw.
 */
function growthOf(
  record: SplitRecord,
  bucketStart: number,
): { readonly bytes: number; readonly micros: number } {
  const newest = record.segments.at(-1);
  let bytes = 0;
  for (const segment of record.segments) bytes += segment.bytes;
  if (newest !== undefined && bytes > 0) return { bytes, micros: newest.to - bucketStart };
  return { bytes: record.bytes, micros: Math.max(0, record.detectedAt - bucketStart) };
}
