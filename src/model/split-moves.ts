/** How a split's record begins, and how it goes from one state to the next: with who and why. */
import type { PartitionKey } from "./partition.ts";
import { NO_LATENCY } from "./split.ts";
import type { SplitRecord, SplitState } from "./split.ts";

/** Why a record was made or changed, for its history. */
export interface MoveReason {
  /** Microseconds. */
  readonly at: number;
  /** Which process, or which person. */
  readonly by: string;
  readonly reason: string;
}

/** What is known of a partition that is to be split. */
export interface NewSplit {
  readonly partition: PartitionKey;
  readonly namespace: string;
  readonly epoch: number;
  /** At least; 0 if nobody has looked. */
  readonly bytes: number;
  readonly events: number;
  readonly immutable: boolean;
  readonly detectedAt: number;
  /** The operator who wishes for it. */
  readonly askedBy?: string;
  /** The operator wants it split although it is not wide. */
  readonly forced?: boolean;
}

/** DETECTED, and due at once. */
export function newSplit(split: NewSplit, { at, by, reason }: MoveReason): SplitRecord {
  return {
    ...split,
    state: "DETECTED",
    segments: [],
    fence: 0,
    owner: null,
    nextPart: 0,
    nextGeneration: 0,
    failures: 0,
    dueAt: at,
    heldBy: null,
    askedBy: split.askedBy ?? null,
    latency: { before: NO_LATENCY, after: NO_LATENCY },
    history: [{ at, by, from: null, to: "DETECTED", reason }],
    version: 0,
  };
}

/**
 * The record in another state, or in the same for a new reason, with what else changes. One that begins
 * anew does so for whoever begins it: an earlier wish is over, unless it is among what is given.
 */
export function movedSplit(
  record: SplitRecord,
  to: SplitState,
  { at, by, reason }: MoveReason,
  change: Partial<Omit<SplitRecord, "partition" | "state" | "history" | "version">> = {},
): SplitRecord {
  const move = { at, by, from: record.state, to, reason };
  const anew = to === "DETECTED" && record.state !== "DETECTED";
  const asked = anew ? { askedBy: null, forced: undefined } : {};
  return { ...record, ...asked, ...change, state: to, history: [...record.history, move] };
}
