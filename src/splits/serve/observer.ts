/** What serving reports to metrics and logs. Each call returns at once. */
import type { SplitLayout } from "../../model/layouts.ts";
import type { SplitStrategyName } from "../../model/strategies/strategies.ts";

/** Why a read that might have used a split went to the original. */
export type FallbackReason =
  /** The catalog could not be asked for the route or the parts, or a part's record is missing. */
  | "route"
  /** Blocks or rows are missing, damaged or out of place. */
  | "integrity"
  /** The storage of the split failed. */
  | "storage"
  /** The split is of another epoch than the namespace. */
  | "epoch"
  /** This server knows nothing of namespace or kill switch that is younger than `viewMaxAge`. */
  | "stale"
  /** No second read of the original has agreed yet (rule C6). */
  | "unconfirmed"
  /** It was read from the split until mode, kill switch or route changed. */
  | "withdrawn"
  /** A difference or damage was seen here before and is being checked. */
  | "quarantined";

/**
 * INTEGRITY_ERROR: the split could not be read, so nothing was compared. SKIPPED: too many waited.
 */
export type ComparisonResult = "MATCH" | "DIFFER" | "INTEGRITY_ERROR" | "FAILED" | "SKIPPED";

/** What came of a difference when both sides were read again at ALL (rule C14). */
export type DifferenceVerdict =
  "VANISHED" | "ONLY_IN_ORIGINAL" | "ONLY_IN_SPLIT" | "OTHER_BYTES" | "UNREADABLE" | "NOT_CHECKED";

export type FilterAnswer = "NONE" | "MISS" | "HIT" | "NOT_LOADED";

export interface SplitKind {
  readonly layout: SplitLayout;
  readonly strategy: SplitStrategyName;
}

export interface ServeObserver {
  /** NONE: no partition of the slice is split. NOT_LOADED: the filter is not there yet. */
  filterChecked(namespace: string, result: FilterAnswer): void;
  /** Of a sample of the checks. */
  filterCheckTook(namespace: string, seconds: number): void;
  /** The filter said perhaps, and there was no route. */
  filterFalsePositive(namespace: string): void;
  routeCache(namespace: string, result: "hit" | "miss"): void;
  /** Of a route or a list of parts, from the catalog. */
  routeFetchTook(namespace: string, seconds: number): void;
  fellBack(namespace: string, reason: FallbackReason, detail: string): void;
  compared(namespace: string, kind: SplitKind, result: ComparisonResult, bytes: number): void;
  differenceChecked(namespace: string, verdict: DifferenceVerdict, detail: string): void;
  /** Something in the background failed and is tried again. */
  trouble(what: string, error: unknown): void;
}
