/** What the sizes of partitions show, in the words of the original's log. */
import { formatBytes } from "../lib/units.ts";
import type { SizeVerdict, TargetDensity } from "./judge-sizes.ts";

export function observedText(verdict: SizeVerdict, target: TargetDensity): string {
  switch (verdict) {
    case "TOO_NARROW":
      return `TimeSlices have p99 partitions below configured target of ${formatBytes(target.densityMinBytes)}.`;
    case "TOO_WIDE":
      return `TimeSlices have p95 partitions above configured target of ${formatBytes(target.densityMaxBytes)}.`;
    case "FITS":
      return "TimeSlices have partitions of the configured target.";
  }
}
