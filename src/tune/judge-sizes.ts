/**
 * Whether partitions are as large as the namespace wants them. Pure.
 *
 * Too wide is judged by p95: a few wide ids are the splitter's work, and a narrower bucket for all
 * would punish the rest. Too narrow is judged by p99: as long as one partition in a hundred has the
 * wanted size, a wider bucket would make that one wide.
 *
 * Between the two limits and the point where Braid acts lies a dead band, so that a size near a
 * limit moves nothing.
 */
import type { NamespaceConfig } from "../model/namespace-config.ts";
import type { TunedSizes } from "../model/tuning.ts";

export type SizeVerdict = "TOO_WIDE" | "TOO_NARROW" | "FITS";

export type TargetDensity = Pick<NamespaceConfig["tuning"], "densityMinBytes" | "densityMaxBytes">;

/** Sizes that differ by less are the same. */
export const DEAD_BAND = 1.25;

export function judgeSizes(sizes: TunedSizes, target: TargetDensity): SizeVerdict {
  if (sizes.p95 > target.densityMaxBytes * DEAD_BAND) return "TOO_WIDE";
  if (sizes.p99 < target.densityMinBytes / DEAD_BAND) return "TOO_NARROW";
  return "FITS";
}

/** How far from the target, as a factor: 1 inside it. */
export function distanceFromTarget(sizes: TunedSizes, target: TargetDensity): number {
  if (sizes.p95 > target.densityMaxBytes) return sizes.p95 / target.densityMaxBytes;
  if (sizes.p99 < target.densityMinBytes) return target.densityMinBytes / Math.max(1, sizes.p99);
  return 1;
}

/** Whether two observations differ by more than the dead band. */
export function differ(a: TunedSizes, b: TunedSizes): boolean {
  return [a.p95 / Math.max(1, b.p95), a.p99 / Math.max(1, b.p99)].some(
    (ratio) => ratio > DEAD_BAND || ratio < 1 / DEAD_BAND,
  );
}
