/**
 * Why a split moved, for code. Decisions use causes and never reasons, which are text for people.
 * docs/operate/splits.md explains each cause to operators.
 */

/** Why the planner refuses a range. */
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
  // A split begins.
  "detection",
  "operator",
  // A worker resumes it.
  "claim",
  "plan",
  "copy",
  "copied",
  "validated",
  "confirmed",
  "covered",
  // It waits.
  "waiting",
  "harmless",
  "paused",
  "reopened",
  "outage",
  ...REFUSAL_CAUSES,
  // The copy differs from the original.
  "mismatch",
  "unreadable",
  "recopy",
] as const;

export type MoveCause = (typeof MOVE_CAUSES)[number];
