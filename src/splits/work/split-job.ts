/** One split that this process owns, with everything that the steps need to know about it. */
import { assert } from "../../lib/errors.ts";
import type { Segment, SplitStep } from "../../model/split.ts";
import type { ServiceLevel } from "../../ports/event-store.ts";
import type { Run } from "../../wire/frames.ts";
import type { OwnedSplit } from "./owned-split.ts";
import type { CopyStage, SplitContext } from "./split-context.ts";
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

const STEP_OF: Readonly<Record<Exclude<CopyStage, "written">, SplitStep>> = {
  read: "COPY",
  validated: "VALIDATE",
  confirmed: "CONFIRM",
};

/** A run has gone through a stage: counted for metrics and for the record's progress. */
export function countRun(
  { context, owned }: SplitJob,
  stage: keyof typeof STEP_OF,
  { bytes, count }: Run,
): void {
  context.observe({ kind: "bytes", namespace: owned.record.namespace, stage, bytes });
  owned.passed(STEP_OF[stage], bytes, count);
}

/** The segment that is being copied, validated or confirmed. */
export function segmentOf({ owned }: SplitJob): Segment {
  const segment = owned.record.segments.at(-1);
  assert(segment !== undefined, "a split that is worked on has a segment");
  return segment;
}
