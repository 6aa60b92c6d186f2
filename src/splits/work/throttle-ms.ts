/**
 * How long the copy waits between two pages, so that live reads meet their target.
 *
 * Pure. While the latency of reads is below half of the target, the copy does not wait. Above that,
 * it waits a growing multiple of the page's duration, so that it takes a shrinking share of the
 * storage's time. It never stops altogether, because the split is the cure for slow reads.
 */
const CALM_SHARE = 0.5;
/**
 * The wait is at most this many times the page's duration, so the copy always gets at least a fifth
 * of the storage's time.
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
  // At the target, the copy takes half of the time.
  const factor = Math.min(WAIT_FACTOR_MAX, strain / (1 - CALM_SHARE));
  return Math.min(WAIT_MS_MAX, pageMs * factor);
}
