/** One split that this process owns, with everything that the steps need to know about it. */
import { assert } from "../../lib/errors.ts";
import type { Segment } from "../../model/split.ts";
import type { ServiceLevel } from "../../ports/event-store.ts";
import type { OwnedSplit } from "./owned-split.ts";
import type { SplitContext } from "./split-context.ts";
import type { WorkLocation } from "./work-location.ts";
import type { WorkThrottle } from "./work-throttle.ts";

export interface SplitJob {
  readonly context: SplitContext;
  readonly owned: OwnedSplit;
  readonly location: WorkLocation;
  readonly throttle: WorkThrottle;
  /** A new range ends here at the latest. */
  readonly settledFloor: number;
  /** The level at which the steps read the original and write parts. */
  readonly level: ServiceLevel;
}

/** The segment that is being copied, validated or confirmed. */
export function segmentOf({ owned }: SplitJob): Segment {
  const segment = owned.record.segments.at(-1);
  assert(segment !== undefined, "a split that is worked on has a segment");
  return segment;
}
