/** What the sizes of partitions show: a sentence for people, and the words of the original's log. */
import { formatBytes } from "../lib/units.ts";
import type { TunedSizes } from "../model/tuning.ts";
import type { TargetDensity } from "./judge-sizes.ts";

type Direction = "WIDEN" | "NARROW";

export function observedText(
  direction: Direction,
  { p95, p99 }: TunedSizes,
  { densityMinBytes, densityMaxBytes }: TargetDensity,
): string {
  const target = `the target is ${formatBytes(densityMinBytes)} to ${formatBytes(densityMaxBytes)}`;
  return direction === "WIDEN"
    ? `most partitions are too small: 99 % have at most ${formatBytes(p99)}, ${target}`
    : `many partitions are too wide: 5 % have more than ${formatBytes(p95)}, ${target}`;
}

export function observedInLog(direction: Direction, target: TargetDensity): string {
  return direction === "WIDEN"
    ? `TimeSlices have p99 partitions below configured target of ${formatBytes(target.densityMinBytes)}.`
    : `TimeSlices have p95 partitions above configured target of ${formatBytes(target.densityMaxBytes)}.`;
}
