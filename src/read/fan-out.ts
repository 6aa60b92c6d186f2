/**
 * Decides how many time buckets the reads of a namespace may read at once. Pure; learns from what
 * became of earlier reads: it falls when much of what was read ahead was thrown away, and rises when
 * reads take more buckets than they may read at once.
 */

/** How one read ended. */
export interface ReadAheadResult {
  /** Time buckets with events that it has read. */
  readonly buckets: number;
  /** Read ahead and passed on. */
  readonly usedBytes: number;
  /** Read ahead for nothing: the read ended before it. */
  readonly leftBytes: number;
}

/** A namespace without reads so far. Larger gains little, and costs most when a caller leaves. */
export const FAN_OUT_FIRST = 8;

/** More than a fifth thrown away is too much. */
const LEFT_TO_USED_MAX = 1 / 4;

/** From 1, which reads one bucket after another, to `max`. */
export function nextFanOut(fanOut: number, result: ReadAheadResult, max: number): number {
  const { buckets, usedBytes, leftBytes } = result;
  if (leftBytes > usedBytes * LEFT_TO_USED_MAX) return Math.max(1, Math.floor((fanOut * 3) / 4));
  return buckets > fanOut ? Math.min(max, fanOut + 1) : Math.min(max, fanOut);
}
