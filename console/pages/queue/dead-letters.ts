/** What to say of the queue, of a dead letter, and of a replay or a drop. */
import { fromBase64 } from "../../../client/base64.ts";
import type { DeadDetection, DeadDetectionsAnswer, QueueStatus } from "../../../client/connect.ts";
import { countText, durationText, nounText } from "../../kit/format.ts";
import type { Tone } from "../../kit/tone.ts";

/** A detection that waits longer says that no worker takes it. */
const WAIT_MAX_MS = 5 * 60_000;

export function verdictOf(
  status: QueueStatus,
  nowMs: number,
): { readonly tone: Tone; readonly sentence: string } {
  const dead = Number(status.deadLetters);
  if (dead > 0) {
    return {
      tone: "warn",
      sentence: `${nounText(dead, "detection")} could not be decoded: replay with a version that can, or drop.`,
    };
  }
  const waiting = Number(status.waiting);
  const waitMs = status.oldestTime === undefined ? 0 : nowMs - Date.parse(status.oldestTime);
  if (waitMs > WAIT_MAX_MS) {
    return {
      tone: "warn",
      sentence: `${nounText(waiting, "detection")} not handled yet, the oldest for ${durationText(waitMs)}: check that a worker runs and that splits are not paused.`,
    };
  }
  return waiting === 0
    ? { tone: "ok", sentence: "Nothing waits, and there is no dead letter." }
    : { tone: "ok", sentence: `${nounText(waiting, "detection")} not handled yet.` };
}

/** Whether a replay can help, in words. */
export function replayText({ kept, detection }: DeadDetection): string {
  if (!kept) return "cannot be replayed: too large to be kept";
  return detection === undefined
    ? "this version cannot decode it: a replay fails again"
    : "this version can decode it";
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** Text if it is text, hex if it is not. */
export function valueOf({ value, valueBytes }: DeadDetection): string {
  const bytes = fromBase64(value);
  const left = Number(valueBytes) - bytes.length;
  const more = left > 0 ? ` … and ${countText(left)} bytes more` : "";
  try {
    return `${UTF8.decode(bytes)}${more}`;
  } catch {
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    return `${hex}${more}`;
  }
}

/** What came of it: "1 dead letter was dropped; 0:3 was not there." */
export function outcomeText(answer: DeadDetectionsAnswer, done: "replayed" | "dropped"): string {
  const count = Number(answer.count);
  const { missing, notKept } = answer;
  return [
    `${nounText(count, "dead letter")} ${count === 1 ? "was" : "were"} ${done}`,
    missing.length === 0 ? "" : `; not there any more: ${missing.join(", ")}`,
    notKept.length === 0 ? "" : `; too large to be kept, so not replayed: ${notKept.join(", ")}`,
    answer.more ? "; there are more: do it again" : "",
    ".",
  ].join("");
}
