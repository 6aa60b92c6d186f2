/**
 * Why a split moved, for code. Decisions look at causes and never at reasons, which are text for people.
 * docs/operate/splits.md says what each means to an operator.
 */

/** Why the planner leaves a range as it is. */
export const REFUSAL_CAUSES = [
  "closed-slice",
  "blocked",
  "detect-off",
  "expiring",
  "empty",
  "too-small",
  "no-impact",
  "fragmented",
] as const;

export type RefusalCause = (typeof REFUSAL_CAUSES)[number];

export const MOVE_CAUSES = [
  // How it begins.
  "detection",
  "operator",
  // A worker goes on with it.
  "claim",
  "plan",
  "copy",
  "copied",
  "validated",
  "confirmed",
  "covered",
  // It rests.
  "waiting",
  "paused",
  "reopened",
  "outage",
  ...REFUSAL_CAUSES,
  // The copy is not as the original.
  "mismatch",
  "unreadable",
  "recopy",
] as const;

export type MoveCause = (typeof MOVE_CAUSES)[number];
