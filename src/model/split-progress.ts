/**
 * How far a split has come in the step that its newest segment is in: for a bar that moves.
 *
 * The copy's checkpoint counts whole parts; the owner's heartbeats say what lies behind it. Both
 * may be some seconds old, and never say more than has passed. Pure.
 */
import type { Segment, SplitRecord, SplitState, SplitStep } from "./split.ts";

export interface SplitProgress {
  readonly step: SplitStep;
  readonly bytesDone: number;
  readonly eventsDone: number;
  readonly bytesTotal: number;
  readonly eventsTotal: number;
  /** False: the total is what was seen so far, and there may be more. */
  readonly totalExact: boolean;
}

/** In these states the newest segment is under way, or continues later. */
const UNDER_WAY: ReadonlySet<SplitState> = new Set([
  "PLANNED",
  "SPLITTING",
  "VALIDATING",
  "COMPLETED",
  "PARKED",
]);

/** Undefined if nothing is planned, or if all of it is confirmed. */
export function splitProgress(record: SplitRecord): SplitProgress | undefined {
  const segment = record.segments.at(-1);
  if (segment === undefined || !UNDER_WAY.has(record.state)) return undefined;
  if (segment.confirmedAt !== null || segment.state === "FAILED") return undefined;
  const step = stepOf(segment);
  const passed = record.owner?.progress?.step === step ? record.owner.progress : NOTHING;
  if (step === "COPY") {
    const expected = segment.expected ?? { ...record, exact: false };
    const bytesDone = Math.max(segment.bytes, passed.bytes);
    const eventsDone = Math.max(segment.events, passed.events);
    return {
      step,
      bytesDone,
      eventsDone,
      bytesTotal: Math.max(expected.bytes, bytesDone),
      eventsTotal: Math.max(expected.events, eventsDone),
      totalExact: expected.exact,
    };
  }
  return {
    step,
    bytesDone: Math.min(segment.bytes, passed.bytes),
    eventsDone: Math.min(segment.events, passed.events),
    bytesTotal: segment.bytes,
    eventsTotal: segment.events,
    totalExact: true,
  };
}

const NOTHING = { bytes: 0, events: 0 };

function stepOf({ state }: Segment): SplitStep {
  if (state === "COMPLETED") return "CONFIRM";
  return state === "VALIDATING" ? "VALIDATE" : "COPY";
}
