/**
 * A criterion: a pure function from what was measured of a strategy to a verdict, with the numbers
 * and the sentence behind it. One file for each, and their table in `table.ts`.
 */
import type { AdviseLimits } from "../limits.ts";
import type { Measured } from "../measure.ts";
import type { ColumnRoles } from "../roles.ts";
import type { TableFacts } from "../table-facts.ts";

/** Thumb up, question mark, thumb down. From good to bad. */
export const VERDICTS = ["UP", "QUESTION", "DOWN"] as const;
export type Verdict = (typeof VERDICTS)[number];

export const CRITERIA = [
  "SIZE_LIMIT",
  "OVER_SHRINKING",
  "KNOWN_KEYS",
  "HOT_SPOTS",
  "TOMBSTONES",
  "ORDER",
  "FIND_ONE",
] as const;
export type CriterionName = (typeof CRITERIA)[number];

export interface Judgement {
  readonly criterion: CriterionName;
  readonly verdict: Verdict;
  /** What the verdict follows from: more is never better. */
  readonly number: number;
  /** For people, with its numbers. */
  readonly why: string;
}

export interface JudgeContext {
  readonly roles: ColumnRoles;
  readonly facts: TableFacts;
  readonly limits: AdviseLimits;
}

export interface Criterion {
  readonly name: CriterionName;
  readonly title: string;
  /** The price of a strategy, which counts less than what may break a table. */
  readonly isPrice: boolean;
  judge(measured: Measured, context: JudgeContext): Omit<Judgement, "criterion">;
}

/** UP up to the first bound, QUESTION up to the second. */
export function verdictOf(number: number, upMax: number, questionMax: number): Verdict {
  if (number <= upMax) return "UP";
  return number <= questionMax ? "QUESTION" : "DOWN";
}

export function worseOf(a: Verdict, b: Verdict): Verdict {
  return VERDICTS.indexOf(a) >= VERDICTS.indexOf(b) ? a : b;
}
