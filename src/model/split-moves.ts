/**
 * How a split's record begins, and which moves between states it may make, each with its actor and
 * cause.
 */
import { assert } from "../lib/errors.ts";
import { REFUSAL_CAUSES } from "./move-cause.ts";
import type { MoveCause } from "./move-cause.ts";
import type { PartitionKey } from "./partition.ts";
import { NO_LATENCY } from "./split.ts";
import type { SplitMove, SplitRecord, SplitState } from "./split.ts";

/** Why a record was created or changed, for its history. */
export type MoveReason = Pick<SplitMove, "at" | "by" | "cause" | "reason">;

/** What is known of a partition before its split begins. */
export interface NewSplit {
  readonly partition: PartitionKey;
  readonly namespace: string;
  readonly epoch: number;
  /** At least this many; 0 if no read has measured it. */
  readonly bytes: number;
  readonly events: number;
  readonly immutable: boolean;
  readonly detectedAt: number;
  /** The operator who requested it. */
  readonly askedBy?: string;
  /** The operator wants it split although it is not wide. */
  readonly forced?: boolean;
}

/** Work ends before its next step. */
const STOPPED: readonly MoveCause[] = ["paused", "reopened", "outage", "closed-slice"];
/** A copy that is being served turns out wrong, or its time was opened again and is sealed. */
const COPIED_AGAIN: readonly MoveCause[] = ["reopened", "recopy", "unreadable"];
/** Servers no longer follow the copy, until an operator retries it. */
const TAKEN_BACK: readonly MoveCause[] = ["operator", "mismatch"];

/**
 * Every move a record may make, and for which causes. A record whose segments are all completed
 * rests as COMPLETED, any other as PARKED; an invalidated one stays so until a worker claims it.
 */
export const SPLIT_MOVES: Readonly<
  Record<SplitState, Readonly<Partial<Record<SplitState, readonly MoveCause[]>>>>
> = {
  DETECTED: {
    DETECTED: COPIED_AGAIN,
    PLANNING: ["claim"],
    SPLITTING: ["claim"],
    VALIDATING: ["claim"],
    COMPLETED: ["claim", "covered", "waiting", "reopened", "closed-slice"],
    PARKED: ["waiting", "reopened", "closed-slice"],
    FAILED: ["unreadable"],
    INVALIDATED: TAKEN_BACK,
  },
  PLANNING: {
    DETECTED: COPIED_AGAIN,
    PLANNED: ["plan"],
    COMPLETED: ["claim", "covered", "waiting", "paused", "reopened", "outage", ...REFUSAL_CAUSES],
    PARKED: ["waiting", "harmless", ...STOPPED],
    REFUSED: REFUSAL_CAUSES,
    FAILED: ["unreadable"],
    INVALIDATED: TAKEN_BACK,
  },
  PLANNED: {
    DETECTED: COPIED_AGAIN,
    SPLITTING: ["claim", "copy"],
    PARKED: STOPPED,
    FAILED: ["unreadable"],
    INVALIDATED: TAKEN_BACK,
  },
  SPLITTING: {
    DETECTED: COPIED_AGAIN,
    VALIDATING: ["copied"],
    PARKED: STOPPED,
    FAILED: ["mismatch", "unreadable"],
    INVALIDATED: TAKEN_BACK,
  },
  VALIDATING: {
    DETECTED: COPIED_AGAIN,
    COMPLETED: ["validated"],
    PARKED: STOPPED,
    FAILED: ["mismatch", "unreadable"],
    INVALIDATED: TAKEN_BACK,
  },
  COMPLETED: {
    DETECTED: ["operator", ...COPIED_AGAIN],
    // A further segment begins.
    PLANNED: ["plan"],
    COMPLETED: [
      "detection",
      "confirmed",
      "covered",
      "waiting",
      "paused",
      "reopened",
      "outage",
      ...REFUSAL_CAUSES,
    ],
    FAILED: ["mismatch", "unreadable"],
    INVALIDATED: TAKEN_BACK,
  },
  PARKED: {
    DETECTED: ["operator", ...COPIED_AGAIN],
    PLANNING: ["claim"],
    SPLITTING: ["claim"],
    VALIDATING: ["claim"],
    PARKED: ["waiting", "reopened", "closed-slice"],
    FAILED: ["unreadable"],
    INVALIDATED: TAKEN_BACK,
  },
  REFUSED: {
    DETECTED: ["detection", "operator"],
    INVALIDATED: ["operator"],
  },
  FAILED: {
    DETECTED: ["operator", ...COPIED_AGAIN],
    PLANNING: ["claim"],
    PARKED: ["waiting", "reopened", "closed-slice"],
    FAILED: ["unreadable"],
    INVALIDATED: TAKEN_BACK,
  },
  INVALIDATED: {
    DETECTED: ["operator", ...COPIED_AGAIN],
    PLANNING: ["claim"],
    COMPLETED: ["claim", "covered"],
    FAILED: ["unreadable"],
    INVALIDATED: ["waiting", "closed-slice", ...TAKEN_BACK],
  },
};

/** DETECTED, and due at once. */
export function newSplit(split: NewSplit, why: MoveReason): SplitRecord {
  return {
    ...split,
    state: "DETECTED",
    segments: [],
    fence: 0,
    owner: null,
    nextPart: 0,
    nextGeneration: 0,
    failures: 0,
    dueAt: why.at,
    heldBy: null,
    askedBy: split.askedBy ?? null,
    latency: { before: NO_LATENCY, after: NO_LATENCY },
    history: [{ ...why, from: null, to: "DETECTED", times: 1 }],
    version: 0,
  };
}

type SplitChange = Partial<Omit<SplitRecord, "partition" | "state" | "history" | "version">>;

/**
 * The record in another state, or in the same state for a new reason, with the given changes. A
 * record that begins again does so for the caller: an earlier operator's request ends, unless the
 * changes include it.
 */
export function movedSplit(
  record: SplitRecord,
  to: SplitState,
  why: MoveReason,
  change: SplitChange = {},
): SplitRecord {
  const { state: from, history } = record;
  const allowed = SPLIT_MOVES[from][to]?.includes(why.cause) === true;
  assert(allowed, `a split may move from ${from} to ${to} by ${why.cause}`);
  const begins = to === "DETECTED" && from !== "DETECTED";
  const asked = begins ? { askedBy: null, forced: undefined } : {};
  const move: SplitMove = { ...why, from, to, times: 1 };
  return { ...record, ...asked, ...change, state: to, history: [...history, move] };
}

/**
 * A move to rest that may be one of many: a worker checks the split, finds it not ready, and
 * repeats later. A rest for the same cause as the previous one replaces its entry in the history
 * and counts it, so that a wait of hours leaves room for what matters.
 */
export function restedSplit(
  record: SplitRecord,
  to: SplitState,
  why: MoveReason,
  change: SplitChange = {},
): SplitRecord {
  const moved = movedSplit(record, to, why, change);
  // A worker may have claimed it in between.
  const looks = record.history.at(-1)?.cause === "claim" ? 2 : 1;
  const last = record.history.at(-looks);
  if (last === undefined || last.to !== to || last.cause !== why.cause) return moved;
  const move: SplitMove = { ...why, from: last.from, to, times: last.times + 1 };
  return { ...moved, history: [...record.history.slice(0, -looks), move] };
}
