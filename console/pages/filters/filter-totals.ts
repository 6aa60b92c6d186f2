/** What the Bloom filters of a server say together. */
import type { FilterPage, SliceFilter } from "../../../client/connect.ts";
import { bytesText, msOf, nounText, percentText } from "../../kit/format.ts";
import type { Tone } from "../../kit/tone.ts";

export interface FilterTotals {
  readonly entries: number;
  readonly checks: number;
  readonly falsePositives: number;
}

export function totalsOf(filters: readonly SliceFilter[]): FilterTotals {
  const sum = (of: (filter: SliceFilter) => string): number =>
    filters.reduce((total, filter) => total + Number(of(filter)), 0);
  return {
    entries: sum(({ entries }) => entries),
    checks: sum(({ checks }) => checks),
    falsePositives: sum(({ falsePositives }) => falsePositives),
  };
}

/** Fewer false positives are chance. */
const FALSE_POSITIVES_MIN = 10;

/** More false positives than a full filter may have, by more than chance. */
export function errsTooOften(filter: SliceFilter): boolean {
  const { observedRate = 0, configuredRate, falsePositives } = filter;
  return Number(falsePositives) >= FALSE_POSITIVES_MIN && observedRate > 2 * configuredRate;
}

/** Too old to act on: reads of the slice use originals until it is brought up to date. */
export function isStale({ age }: SliceFilter, viewMaxAge: string): boolean {
  return (msOf(age) ?? 0) > (msOf(viewMaxAge) ?? Number.POSITIVE_INFINITY);
}

export function verdictOf(
  page: Pick<FilterPage, "filters" | "total" | "totalBytes" | "viewMaxAge">,
): {
  readonly tone: Tone;
  readonly sentence: string;
} {
  const { filters, total, totalBytes, viewMaxAge } = page;
  if (total === 0) return { tone: "idle", sentence: "This server has read no slice yet." };
  const stale = filters.filter((filter) => isStale(filter, viewMaxAge)).length;
  if (stale > 0) {
    return {
      tone: "warn",
      sentence: `${nounText(stale, "filter")} could not be brought up to date: reads of these slices use originals. Check that the server reaches the catalog.`,
    };
  }
  const wrong = filters.filter(errsTooOften).length;
  if (wrong > 0) {
    return {
      tone: "warn",
      sentence: `${nounText(wrong, "filter")} answered "perhaps" wrongly more often than configured: such reads look up a split that does not exist, which costs time and nothing else.`,
    };
  }
  const { checks, falsePositives } = totalsOf(filters);
  const wrongShare = falsePositives === 0 ? "none" : percentText(falsePositives / checks);
  const share = checks === 0 ? "" : `, ${wrongShare} of them wrong`;
  return {
    tone: "ok",
    sentence: `${nounText(total, "filter")} in ${bytesText(Number(totalBytes))} answered ${nounText(checks, "check")}${share}.`,
  };
}

/** Smaller shares differ in nothing that matters. */
const SHARE_MIN = 0.00001;

/** "0.2 %", or "< 0.001 %": a filter with few elements errs almost never. */
export function smallShareText(share: number): string {
  return share > 0 && share < SHARE_MIN ? `< ${percentText(SHARE_MIN)}` : percentText(share);
}
