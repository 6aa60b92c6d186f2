/** Splits by the column of the board they belong to, and what their states mean. */
import type { Split, SplitState } from "../../../client/connect.ts";
import { nounText } from "../../kit/format.ts";
import type { Tone } from "../../kit/tone.ts";

export interface BoardColumn {
  readonly title: string;
  readonly states: readonly SplitState[];
  readonly tone: Tone;
  /** For a column without cards. */
  readonly meaning: string;
}

export const COLUMNS: readonly BoardColumn[] = [
  {
    title: "Detected",
    states: ["DETECTED"],
    tone: "idle",
    meaning: "A read saw a wide partition; a worker takes it up soon.",
  },
  {
    title: "Planning",
    states: ["PLANNING", "PLANNED"],
    tone: "busy",
    meaning: "A worker reads the partition and decides where to cut it.",
  },
  {
    title: "Splitting",
    states: ["SPLITTING"],
    tone: "busy",
    meaning: "A worker writes the parts.",
  },
  {
    title: "Validating",
    states: ["VALIDATING"],
    tone: "busy",
    meaning: "A worker reads the parts back and compares checksums.",
  },
  {
    title: "Completed",
    states: ["COMPLETED"],
    tone: "ok",
    meaning: "Equal to the original; served when confirmed and the read mode allows it.",
  },
  {
    title: "Waiting or stopped",
    states: ["PARKED", "REFUSED", "FAILED", "INVALIDATED"],
    tone: "warn",
    meaning: "Nothing failed, was refused or was rolled back.",
  },
];

export const STATE_TONES: Readonly<Record<SplitState, Tone>> = {
  DETECTED: "idle",
  PLANNING: "busy",
  PLANNED: "busy",
  SPLITTING: "busy",
  VALIDATING: "busy",
  COMPLETED: "ok",
  PARKED: "warn",
  REFUSED: "idle",
  FAILED: "bad",
  INVALIDATED: "warn",
};

/** A name that is unique over all namespaces, as the watch uses it. */
export function keyOf({ namespace, splitId }: Split): string {
  return `${namespace}/${splitId}`;
}

/** In the newest order of their moves. */
export function inColumn(splits: readonly Split[], { states }: BoardColumn): readonly Split[] {
  return splits
    .filter(({ state }) => states.includes(state))
    .toSorted((a, b) => Date.parse(b.moveTime) - Date.parse(a.moveTime));
}

/** The splits after a change of the watch. */
export function changed(
  known: ReadonlyMap<string, Split>,
  change: {
    readonly snapshot: boolean;
    readonly splits: readonly Split[];
    readonly removed: readonly string[];
  },
): ReadonlyMap<string, Split> {
  const next = new Map(change.snapshot ? [] : known);
  for (const key of change.removed) next.delete(key);
  for (const split of change.splits) next.set(keyOf(split), split);
  return next;
}

/** What matters most about all of them, with the next step. */
export function sentenceOf(splits: readonly Split[]): { tone: Tone; text: string } {
  const count = (...states: SplitState[]): number =>
    splits.filter(({ state }) => states.includes(state)).length;
  const failed = count("FAILED");
  const moving = count("DETECTED", "PLANNING", "PLANNED", "SPLITTING", "VALIDATING");
  const done = count("COMPLETED");
  if (splits.length === 0) {
    return {
      tone: "idle",
      text: "No partition was found to be wide: reads report those that are.",
    };
  }
  if (failed > 0) {
    return {
      tone: "bad",
      text: `${nounText(failed, "split")} failed, and reads use their originals: open one for the reason, then retry it.`,
    };
  }
  if (moving > 0) {
    return { tone: "busy", text: `${nounText(moving, "split")} in progress, ${done} completed.` };
  }
  return { tone: "ok", text: `${nounText(done, "split")} completed; nothing waits.` };
}
