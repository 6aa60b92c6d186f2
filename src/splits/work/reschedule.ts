/** When a split is next due. Pure. Times are in microseconds. */
import type { MoveCause } from "../../model/move-cause.ts";
import { outageWait, RANGE_MICROS_MIN } from "../../model/split-waits.ts";
import type { SplitMove, SplitRecord } from "../../model/split.ts";
import type { NamespaceConfig } from "../../model/namespace-config.ts";
import type { Micros } from "../../lib/time-units.ts";

/** After 16 segments, each new one of an open bucket covers at least 1/8 of the time before it. */
const FREE_SEGMENTS = 16;
const RANGE_SHARE = 8;

/** Causes of moves that may lie between two consecutive outages; any other cause ends the row. */
const GOES_ON: readonly MoveCause[] = ["claim", "plan", "copy", "copied"];

/** The wait after an outage: it doubles with each consecutive outage, up to a maximum. */
export function outageMicros(record: SplitRecord): number {
  return outageWait(outagesInARow(record.history));
}

function outagesInARow(history: readonly SplitMove[]): number {
  let outages = 0;
  for (const { cause } of history.toReversed()) {
    if (cause === "outage") outages++;
    else if (!GOES_ON.includes(cause)) break;
  }
  return outages;
}

interface NextRange {
  readonly record: SplitRecord;
  readonly bucket: { readonly start: number; readonly end: number };
  readonly config: NamespaceConfig;
  /** How far the settled floor is behind the time that servers accept (`settledLag`). */
  readonly lagMicros: Micros;
  readonly nowMicros: number;
}

/**
 * When the next range of an open bucket may hold the target bytes; null: the segments cover the
 * whole bucket.
 */
export function nextRangeAt({
  record,
  bucket,
  config,
  lagMicros,
  nowMicros,
}: NextRange): number | null {
  const newest = record.segments.at(-1);
  const coveredTo = newest?.to ?? bucket.start;
  if (coveredTo >= bucket.end) return null;
  const { bytes, micros } = growthOf(record, bucket.start);
  const needed = bytes > 0 ? (config.widePartition.targetBytes / bytes) * micros : 0;
  const least = shortestRange(record, bucket.start);
  const full = Math.min(coveredTo + Math.max(needed, least), bucket.end);
  return Math.ceil(
    Math.max(full + config.acceptLimitMicros + lagMicros, nowMicros + RANGE_MICROS_MIN),
  );
}

/**
 * The least length of the next range of an open bucket. After 16 segments, each new one covers a
 * share of the time before it. So the segments stay few, however long and busy the bucket is: one
 * record holds them all.
 */
export function shortestRange({ segments }: SplitRecord, bucketStart: number): number {
  if (segments.length < FREE_SEGMENTS) return 0;
  return ((segments.at(-1)?.to ?? bucketStart) - bucketStart) / RANGE_SHARE;
}

/** The write rate, from the segments if there are any, else from the detection. */
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
