/**
 * What is to be done with a split that is due: pure. Most looks end here, before anybody owns it.
 *
 * Completed segments are never given up for a later one (rule C10): a record that has some goes
 * back to COMPLETED where another one is refused or parked.
 */
import type { MoveCause } from "../../model/move-cause.ts";
import type { Namespace } from "../../model/namespace.ts";
import { coveredTo } from "../../model/split.ts";
import type { SplitRecord, SplitState } from "../../model/split.ts";
import { formatTime } from "../../wire/time-text.ts";
import { nextRangeAt, shortestRange } from "./reschedule.ts";
import { newestSegment } from "./newest-segment.ts";
import type { TimeMargins } from "../../model/time-margins.ts";

type SplitStep = "plan" | "copy" | "validate" | "confirm";

export type Triage =
  /** Not now. It stays due. */
  | { readonly kind: "leave" }
  /** Nobody has to own it for this. */
  | {
      readonly kind: "move";
      readonly to: SplitState;
      readonly cause: MoveCause;
      readonly reason: string;
      readonly changes: Partial<SplitRecord>;
    }
  | { readonly kind: "claim"; readonly to: SplitState; readonly reason: string };

export interface TriageInput {
  readonly record: SplitRecord;
  readonly namespace: Namespace & { readonly reopening: object | null };
  readonly bucket: { readonly start: number; readonly end: number };
  /** The sealed line this process may rely on. */
  readonly floor: number | undefined;
  readonly margins: TimeMargins;
  readonly nowMicros: number;
}

/** What comes next for the newest segment; "plan": for one behind it. */
export function nextStep(record: SplitRecord): SplitStep {
  const newest = newestSegment(record);
  switch (newest?.state) {
    case "PLANNED":
    case "SPLITTING":
      return "copy";
    case "VALIDATING":
      return "validate";
    case "COMPLETED":
      return newest.confirmedAt === null ? "confirm" : "plan";
    default:
      return "plan";
  }
}

/** Where a record rests that is neither done nor under way. */
export function restingState({ state, segments }: SplitRecord): SplitState {
  if (state === "INVALIDATED") return state;
  return segments.length > 0 && segments.every((segment) => segment.state === "COMPLETED")
    ? "COMPLETED"
    : "PARKED";
}

export function triage(input: TriageInput): Triage {
  const { record, namespace } = input;
  if (record.epoch > namespace.epoch) return { kind: "leave" };
  if (record.epoch < namespace.epoch) return otherEpoch(input);
  // A pause may last for weeks: nothing is written for it, and when it is over all is as it was.
  if (namespace.splitsPaused !== null) return { kind: "leave" };
  const step = nextStep(record);
  return step === "plan" ? triageRange(input) : claimFor(step, record);
}

/**
 * The steps of a re-opening see to the records (rule C3). One they have not met was made by a
 * detection that was late; if it has segments all the same, nobody knows whether their time was
 * open since.
 */
function otherEpoch({ record, namespace }: TriageInput): Triage {
  if (namespace.reopening !== null) return { kind: "leave" };
  const { epoch } = namespace;
  if (record.segments.length === 0) {
    const reason = `the namespace has begun epoch ${epoch}`;
    return move(record.state, "reopened", reason, { epoch });
  }
  const reason = `the namespace has begun epoch ${epoch}: what was copied before is not relied on`;
  return move("INVALIDATED", "reopened", reason, { epoch, segments: [] });
}

function claimFor(step: Exclude<SplitStep, "plan">, record: SplitRecord): Triage {
  if (step === "confirm") {
    return { kind: "claim", to: "COMPLETED", reason: "the original is read a second time" };
  }
  if (step === "validate") {
    return { kind: "claim", to: "VALIDATING", reason: "the copy is read back" };
  }
  const copiedTo = newestSegment(record)?.copiedTo ?? 0;
  const reason = `the copy continues below ${formatTime(copiedTo)}`;
  return { kind: "claim", to: "SPLITTING", reason };
}

function triageRange(input: TriageInput): Triage {
  const { record, namespace, bucket, floor, margins, nowMicros } = input;
  const from = coveredTo(record, bucket.start);
  if (from >= bucket.end) {
    const reason = "all of the bucket is split";
    return move("COMPLETED", "covered", reason, { dueAt: null });
  }
  // Within seconds of this process's start it is known.
  if (floor === undefined) return { kind: "leave" };
  const { config } = namespace;
  const to = Math.min(floor, bucket.end);
  const tooShort = to < bucket.end && to - from < shortestRange(record, bucket.start);
  if (to <= from || tooShort) {
    const dueAt = nextRangeAt({ record, bucket, config, margins, nowMicros });
    const what = to > from ? "too little behind" : "nothing behind";
    const reason = `not enough sealed yet: ${what} ${formatTime(from)} is`;
    return move(restingState(record), "waiting", reason, { dueAt });
  }
  // A split with completed segments stays COMPLETED while a further range is looked at.
  const state = restingState(record) === "COMPLETED" ? "COMPLETED" : "PLANNING";
  const again = record.state === "INVALIDATED" ? "sealed again: " : "";
  const reason = `${again}looking at the time from ${formatTime(from)} on`;
  return { kind: "claim", to: state, reason };
}

function move(
  to: SplitState,
  cause: MoveCause,
  reason: string,
  changes: Partial<SplitRecord>,
): Triage {
  return { kind: "move", to, cause, reason, changes };
}
