/**
 * Decides what to do with a due split. Pure. Most due splits need no owner.
 *
 * A record never loses completed segments because of a later one (rule C10): a record with
 * completed segments returns to COMPLETED if the next segment is refused or parked.
 */
import type { MoveCause } from "../../model/move-cause.ts";
import type { Namespace } from "../../model/namespace.ts";
import { coveredTo, sealedSegments } from "../../model/split.ts";
import type { SplitRecord, SplitState } from "../../model/split.ts";
import { formatTime } from "../../wire/time-text.ts";
import { begunAgain } from "../record/return-reopened.ts";
import { RANGE_MICROS_MIN } from "../../model/split-waits.ts";
import { nextRangeAt, shortestRange } from "./reschedule.ts";
import { newestSegment } from "./newest-segment.ts";
import type { Micros } from "../../lib/time-units.ts";

type SplitStep = "plan" | "copy" | "validate" | "confirm";

export type Triage =
  /** Do nothing now. The split stays due. */
  | { readonly kind: "leave" }
  /** Change the record; this needs no owner. */
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
  readonly namespace: Namespace;
  readonly bucket: { readonly start: number; readonly end: number };
  /** Event time below it can no longer change in this epoch. */
  readonly settledFloor: number;
  readonly lagMicros: Micros;
  readonly nowMicros: number;
}

/** The next step of the newest segment; "plan": of the segment after it. */
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

/** The state of a record that is neither done nor being worked on. */
export function restingState({ state, segments }: SplitRecord): SplitState {
  if (state === "INVALIDATED") return state;
  return segments.length > 0 && segments.every((segment) => segment.state === "COMPLETED")
    ? "COMPLETED"
    : "PARKED";
}

export function triage(input: TriageInput): Triage {
  const { record, namespace } = input;
  // A pause may last for weeks: the worker writes nothing for it, and at its end every record is
  // unchanged.
  if (namespace.splitsPaused !== null) return { kind: "leave" };
  if (sealedSegments(record, namespace).length < record.segments.length) return reopened(input);
  const step = nextStep(record);
  return step === "plan" ? triageRange(input) : claimFor(step, record);
}

/** Segments of a split were opened again: it begins again when the first of them is sealed. */
function reopened(input: TriageInput): Triage {
  const { record, namespace, settledFloor, lagMicros, nowMicros } = input;
  const opened = record.segments[sealedSegments(record, namespace).length];
  if (opened === undefined || namespace.reopening !== null) return { kind: "leave" };
  if (opened.to <= settledFloor) {
    const { reason, changes } = begunAgain(record, namespace);
    return move("DETECTED", "reopened", reason, { ...changes, dueAt: nowMicros });
  }
  const sealedAt = opened.to + namespace.config.acceptLimitMicros + lagMicros;
  const reason = `time from ${formatTime(opened.from)} on was opened again`;
  const dueAt = Math.max(sealedAt, nowMicros + RANGE_MICROS_MIN);
  return move(restingState(record), "reopened", reason, { dueAt });
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
  const { record, namespace, bucket, settledFloor, lagMicros, nowMicros } = input;
  const from = coveredTo(record, bucket.start, namespace);
  if (from >= bucket.end) {
    const reason = "all of the bucket is split";
    return move("COMPLETED", "covered", reason, { dueAt: null });
  }
  const { config } = namespace;
  const to = Math.min(settledFloor, bucket.end);
  const tooShort = to < bucket.end && to - from < shortestRange(record, bucket.start);
  if (to <= from || tooShort) {
    const dueAt = nextRangeAt({ record, bucket, config, lagMicros, nowMicros });
    const what = to > from ? "too little" : "nothing";
    const reason = `not enough sealed yet: ${what} after ${formatTime(from)}`;
    return move(restingState(record), "waiting", reason, { dueAt });
  }
  // A split with completed segments stays COMPLETED while a worker plans the next range.
  const state = restingState(record) === "COMPLETED" ? "COMPLETED" : "PLANNING";
  const reason = `planning from ${formatTime(from)}`;
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
