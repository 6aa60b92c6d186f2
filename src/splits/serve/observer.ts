/** What serving reports to metrics and logs. Each call returns at once. */
import type { SplitLayout } from "../../model/layouts.ts";
import type { SplitStrategyName } from "../../model/strategies/strategies.ts";
import type { FallbackReason } from "./fallback-reason.ts";

/**
 * INTEGRITY_ERROR: the split could not be read, so nothing was compared. SKIPPED: too many
 * comparisons were waiting.
 */
export type ComparisonResult = "MATCH" | "DIFFER" | "INTEGRITY_ERROR" | "FAILED" | "SKIPPED";

/** The result of reading both sides of a difference again at ALL (rule C14). */
export type DifferenceVerdict =
  "VANISHED" | "ONLY_IN_ORIGINAL" | "ONLY_IN_SPLIT" | "OTHER_BYTES" | "UNREADABLE" | "NOT_CHECKED";

export type FilterAnswer = "NONE" | "MISS" | "HIT" | "NOT_LOADED";

export interface SplitKind {
  readonly layout: SplitLayout;
  readonly strategy: SplitStrategyName;
}

export interface ServeObserver {
  /** NONE: no partition of the slice is split. NOT_LOADED: the filter is not loaded yet. */
  filterChecked(namespace: string, result: FilterAnswer): void;
  /** Called for a sample of the checks. */
  filterCheckTook(namespace: string, seconds: number): void;
  /** The filter answered "perhaps", and there was no route. */
  filterFalsePositive(namespace: string): void;
  routeCache(namespace: string, result: "hit" | "miss"): void;
  /** The time to fetch a route or a list of parts from the catalog. */
  routeFetchTook(namespace: string, seconds: number): void;
  fellBack(namespace: string, reason: FallbackReason, detail: string): void;
  compared(namespace: string, kind: SplitKind, result: ComparisonResult, bytes: number): void;
  differenceChecked(namespace: string, verdict: DifferenceVerdict, detail: string): void;
  /** A background task failed and will be tried again. */
  trouble(what: string, error: unknown): void;
}
