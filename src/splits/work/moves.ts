/** How a record changes while it is worked on: pure. */
import { movedSplit } from "../../model/split-moves.ts";
import type { MoveReason } from "../../model/split-moves.ts";
import type { Segment, SplitRecord, SplitState } from "../../model/split.ts";

/** A move, but a repeat of what the history ends with adds nothing to it: histories are bounded. */
export function movedOnce(
  record: SplitRecord,
  to: SplitState,
  why: MoveReason,
  changes: Partial<SplitRecord>,
): SplitRecord {
  const last = record.history.at(-1);
  const repeat = record.state === to && last?.to === to && last.reason === why.reason;
  return repeat ? { ...record, ...changes } : movedSplit(record, to, why, changes);
}

/**
 * A move to rest that may be one of many: looked at, not yet; looked at, not yet. A look that ends as the one
 * before it did takes that one's place in the history, with how many there were, so that a wait of hours
 * leaves room for what matters.
 */
export function movedAgain(
  record: SplitRecord,
  to: SplitState,
  why: MoveReason,
  changes: Partial<SplitRecord>,
): SplitRecord {
  const [last, look] = record.history.slice(-2);
  const repeat =
    last?.from === record.state &&
    last.to === to &&
    look?.from === to &&
    look.to === record.state &&
    subjectOf(last.reason) === subjectOf(why.reason);
  if (!repeat) return movedOnce(record, to, why, changes);
  const looks = Number(LOOKS.exec(last.reason)?.[1] ?? 1) + 1;
  const reason = `${why.reason} (look ${looks})`;
  const history = record.history.slice(0, -2);
  return movedSplit({ ...record, history }, to, { ...why, reason }, changes);
}

const LOOKS = / \(look (\d+)\)$/;

/** What a reason is about, without its numbers. */
function subjectOf(reason: string): string {
  return reason.split(":", 1)[0] ?? "";
}

export function newestSegment(record: SplitRecord): Segment | undefined {
  return record.segments.at(-1);
}

/** Changes of the newest segment: only that one is ever unfinished. */
export function withNewest(
  record: SplitRecord,
  changes: Partial<Segment>,
): Pick<SplitRecord, "segments"> {
  const newest = newestSegment(record);
  if (newest === undefined) return { segments: record.segments };
  return { segments: [...record.segments.slice(0, -1), { ...newest, ...changes }] };
}

/** Without a newest segment that is not completed: what a new plan starts from. */
export function completedSegments(record: SplitRecord): readonly Segment[] {
  return record.segments.filter(({ state }) => state === "COMPLETED");
}
