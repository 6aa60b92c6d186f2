/** The last walk of a slice as one of the sources of partition sizes. Pure. */
import { SizeHistogram } from "../model/size-histogram.ts";
import { exclusionsOf } from "../model/slice-histogram.ts";
import type { SliceHistogram } from "../model/slice-histogram.ts";
import type { NoSizes, SizeReport } from "../ports/partition-sizes.ts";

const TELLS =
  "the sizes of all partitions of the slice, in bytes of events as the API encodes them";

export function walkReport(walk: SliceHistogram): SizeReport {
  const histogram = SizeHistogram.of(walk.partitions.bytes);
  const exclusions = exclusionsOf(walk);
  return {
    kind: "sizes",
    source: "WALK",
    count: histogram.count,
    meanBytes: histogram.meanBytes,
    maxBytes: histogram.maxBytes,
    histogram,
    coverage: coverageOf(walk),
    tells: TELLS,
    doesNotTell: exclusions.length === 0 ? "nothing is left out" : exclusions.join("; "),
    asOf: walk.asOf,
  };
}

export function noWalk(): NoSizes {
  return { kind: "none", source: "WALK", reason: "the slice was not walked yet" };
}

function coverageOf({ sealed, complete }: SliceHistogram): string {
  const when = sealed ? "after it was sealed" : "while it took events";
  return `${complete ? "the whole slice" : "a part of the slice"}, walked ${when}`;
}
