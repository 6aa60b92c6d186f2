/**
 * How long the copying waits between two pages, so that live reads keep their target.
 *
 * Pure. While reads are well inside their target it does not wait at all. From half of the target
 * on it waits a growing multiple of what the page took, so that it takes a shrinking share of the
 * storage's time; it never stops altogether, because a split is what cures slow reads.
 */
const CALM_SHARE = 0.5;
/**
 * At most this many times what the page took: a fifth of the storage's time is always left to it.
 */
const WAIT_FACTOR_MAX = 4;
const WAIT_MS_MAX = 1_000;

export function throttleMs(
  latencyMs: number | undefined,
  targetMs: number,
  pageMs: number,
): number {
  if (latencyMs === undefined) return 0;
  const strain = latencyMs / Math.max(1, targetMs) - CALM_SHARE;
  if (strain <= 0) return 0;
  // At the target itself it takes half of the time.
  const factor = Math.min(WAIT_FACTOR_MAX, strain / (1 - CALM_SHARE));
  return Math.min(WAIT_MS_MAX, pageMs * factor);
}
