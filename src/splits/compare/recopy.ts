/**
 * Decides how to change the record of a split that differs from its original. Pure.
 *
 * The number of recopies is bounded. A copy that cannot be read counts like one that fails its
 * validation: after some waits it rests until an operator retries. An event that appears late in
 * the original is not a fault of the copy: the split is copied again at once, or after a wait if
 * that happens again within a day.
 */
import type { MoveCause } from "../../model/move-cause.ts";
import { failedDueAt, SURFACED_AGAIN_MICROS } from "../../model/split-waits.ts";
import { movedSplit } from "../../model/split-moves.ts";
import type { SplitRecord } from "../../model/split.ts";
import type { Finding } from "./recheck-difference.ts";

const IN_WORDS: Readonly<Record<Finding["verdict"], string>> = {
  ONLY_IN_ORIGINAL: "an event is only in the original",
  ONLY_IN_SPLIT: "an event is only in the split",
  OTHER_BYTES: "an event has other bytes in the split",
  UNREADABLE: "the split cannot be read",
};
/** The holder of a split that differs from its original, as shown to operators. */
const HELD_BY = "braid: differs from its original";
const LATELY_MICROS = 86_400_000_000;

type Recopy = Extract<MoveCause, "recopy" | "unreadable">;

export function reasonOf({ verdict, detail }: Finding): string {
  return `${IN_WORDS[verdict]}: ${detail}`;
}

/** Copies the `nth` segment and those behind it again; the segments before it stay. */
export function recopied(
  before: SplitRecord,
  nth: number,
  finding: Finding,
  by: string,
  at: number,
): SplitRecord {
  const reason = reasonOf(finding);
  const { segments, askedBy, forced } = before;
  // An operator's request stays one: with detection off, the planner would refuse any other.
  const change = { segments: segments.slice(0, nth), ...overtaken(before), askedBy, forced };
  const cause: Recopy = finding.verdict === "UNREADABLE" ? "unreadable" : "recopy";
  const times = recopiedLately(before, cause, at);
  if (cause === "recopy") {
    const dueAt = times === 0 ? at : at + SURFACED_AGAIN_MICROS;
    return movedSplit(before, "DETECTED", { at, by, cause, reason }, { ...change, dueAt });
  }
  // A confirmed copy resets the failures, but this copy cannot be read: its recopies count.
  const failures = Math.max(before.failures, times) + 1;
  const dueAt = failedDueAt(failures, at);
  const end = dueAt === null ? `; after ${failures} failures it waits for a retry` : "";
  const to = dueAt === null ? "FAILED" : "DETECTED";
  const why = { at, by, cause, reason: `${reason}${end}` };
  return movedSplit(before, to, why, { ...change, failures, dueAt });
}

/** Servers follow none of the split until an operator retries it. */
export function held(before: SplitRecord, finding: Finding, by: string, at: number): SplitRecord {
  const why = { at, by, cause: "mismatch" as const, reason: reasonOf(finding) };
  const change = { segments: [], ...overtaken(before), heldBy: HELD_BY, dueAt: null };
  return movedSplit(before, "INVALIDATED", why, change);
}

/**
 * How often it was copied again for this cause: within a day, and since it last started over for a
 * reason other than a recopy.
 */
function recopiedLately({ history }: SplitRecord, cause: Recopy, nowMicros: number): number {
  let times = 0;
  for (const move of history.toReversed()) {
    if (nowMicros - move.at > LATELY_MICROS) break;
    if (move.cause === cause) times++;
    else if (move.to === "DETECTED" && move.cause !== "recopy" && move.cause !== "unreadable")
      break;
  }
  return times;
}

/** A worker that owns the split finds the newer fence at its next change, and stops. */
function overtaken({ fence }: SplitRecord): Pick<SplitRecord, "owner" | "fence"> {
  return { owner: null, fence: fence + 1 };
}
