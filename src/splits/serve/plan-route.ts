/**
 * Decides which source each range of a partition is read from, and what is compared. Pure.
 *
 * Reads take what a split covers and may serve (`may-serve.ts`) from the split, and the rest from
 * the original. One range of time has one source.
 */
import { isSealed } from "../../model/epochs.ts";
import type { EpochStarts } from "../../model/epochs.ts";
import type { ReadMode } from "../../model/read-mode.ts";
import type { RouteRecord, RouteSegment } from "../../model/split.ts";
import type { PartitionRoute } from "../../partition/partition-source.ts";
import type { CompareHow } from "../../parts/range-sum.ts";
import type { Order } from "../../ports/event-store.ts";
import { formatTime } from "../../wire/time-text.ts";
import type { Position } from "../../wire/frames.ts";
import { fallbackFor, heldRoute, heldWhole, mayServe } from "./may-serve.ts";
import type { HeldCause, ServeFacts, TrustState } from "./may-serve.ts";
import type { FallbackReason } from "./fallback-reason.ts";

/** A range of event time with one source, `from` included, `to` not. */
export interface RouteRange {
  readonly from: number;
  readonly to: number;
  /** The segment that covers the range, if any. */
  readonly segment: RouteSegment | undefined;
  readonly readFrom: "SPLIT" | "ORIGINAL";
  readonly compare: CompareHow;
  /** Why a covered range is read from the original. */
  readonly held?: HeldCause;
}

export interface RoutePlan {
  readonly route: PartitionRoute;
  /** In the order of the read. */
  readonly routeRanges: readonly RouteRange[];
  /** Set if the original is read instead of the split and this counts as a fallback. */
  readonly fallback: FallbackReason | undefined;
}

export interface RouteQuestion extends ServeFacts {
  readonly range: {
    readonly from: number;
    readonly to: number;
    readonly order: Order;
    readonly after: Position | undefined;
  };
  readonly trustOf: (segment: RouteSegment) => TrustState;
  /** Whether this read is in the sample that is compared when not all reads are. */
  readonly sampled: boolean;
}

export function planRoute(question: RouteQuestion): RoutePlan {
  const { namespace, route, range } = question;
  const held = heldWhole(question);
  if (route === undefined || held === "TAKEN_BACK") {
    return heldPlan(held ?? "NOT_SPLIT", question, joinPlain(cutByTime([], range)));
  }
  // Time that was opened again does not count as covered: it is neither served nor compared.
  const starts = namespace?.epochStarts ?? [];
  const segments = starts.length === 0 ? route.segments : sealedOnly(route.segments, starts);
  const cut = cutByTime(segments, range);
  if (namespace === undefined || held === "KILL_SWITCH") {
    return heldPlan(held ?? "STALE", question, joinPlain(cut));
  }
  const opened = segments.length < route.segments.length && coverDiffers(route, cut, range);
  if (opened && cut.every(({ segment }) => segment === undefined)) {
    return heldPlan("EPOCH", question, joinPlain(cut));
  }
  const { mode } = namespace.readMode;
  if (mode === "OFF") return heldPlan("MODE", question, joinPlain(cut));
  const routeRanges = joinPlain(cut.map((routeRange) => decide(routeRange, mode, question)));
  if (held !== undefined) return heldPlan(held, question, routeRanges);
  return servedPlan(segments, routeRanges, question, opened);
}

function sealedOnly(segments: readonly RouteSegment[], starts: EpochStarts): RouteSegment[] {
  return segments.filter((segment) => isSealed(starts, segment));
}

/** Whether the read meets time that is split, but was opened again. */
function coverDiffers(
  { segments }: RouteRecord,
  cut: readonly RouteRange[],
  range: RouteQuestion["range"],
): boolean {
  const covered = (ranges: readonly RouteRange[]): number =>
    ranges.filter(({ segment }) => segment !== undefined).length;
  return covered(cutByTime(segments, range)) > covered(cut);
}

/** Reads everything from the original and compares nothing. */
export function plainPlan(plan: RoutePlan): RoutePlan {
  const plain = plan.routeRanges.map((routeRange) => ({
    ...routeRange,
    readFrom: "ORIGINAL" as const,
    compare: "NO" as const,
  }));
  return { ...plan, routeRanges: plain };
}

function decide(routeRange: RouteRange, mode: ReadMode, question: RouteQuestion): RouteRange {
  const { segment } = routeRange;
  if (segment === undefined) return routeRange;
  const trust = question.trustOf(segment);
  const verdict = mayServe(question, segment, trust);
  const compare = compareHow(verdict, mode, trust, question.sampled);
  if (verdict === "YES") return { ...routeRange, readFrom: "SPLIT", compare };
  return { ...routeRange, compare, held: verdict };
}

function compareHow(
  verdict: "YES" | HeldCause,
  mode: ReadMode,
  trust: TrustState,
  sampled: boolean,
): CompareHow {
  // The recheck reads a quarantined split at ALL: a comparison here would find nothing new.
  if (trust === "QUARANTINED") return "NO";
  // The first reads of each split are compared, whatever the mode. A kind of split without evidence
  // of its own is compared even while other kinds are served (rule C13).
  if (trust === "UNSEEN" || mode === "COMPARE" || verdict === "KIND") return "DIGEST";
  if (!sampled || verdict === "UNCONFIRMED") return "NO";
  return mode === "SHADOW" ? "SIZES" : "DIGEST";
}

function heldPlan(
  held: HeldCause,
  question: RouteQuestion,
  routeRanges: readonly RouteRange[],
): RoutePlan {
  const route = heldRoute(held, question);
  const covered = routeRanges.some(({ segment }) => segment !== undefined);
  const nothingHeld = route.route === "ORIGINAL_HELD" && !covered;
  return {
    route: nothingHeld ? outside(question.route?.segments ?? []) : route,
    routeRanges,
    fallback: fallbackFor(held),
  };
}

/** `opened`: some of what was asked for is split, but was opened again. */
function servedPlan(
  segments: readonly RouteSegment[],
  routeRanges: readonly RouteRange[],
  facts: ServeFacts,
  opened: boolean,
): RoutePlan {
  const split = routeRanges.filter(({ readFrom }) => readFrom === "SPLIT");
  const first = routeRanges.find(({ held }) => held !== undefined);
  const cause = opened ? "EPOCH" : first?.held;
  const held = cause === undefined ? undefined : heldRoute(cause, facts, first?.segment);
  const fallback = cause === undefined ? undefined : fallbackFor(cause);
  if (split.length === 0) return { route: held ?? outside(segments), routeRanges, fallback };
  const parts = split.reduce((sum, { segment }) => sum + partsOf(segment), 0);
  const whole = split.length === routeRanges.length;
  const route: PartitionRoute = whole
    ? { route: "SPLIT", why: "all that was asked for is split", parts }
    : { route: "SPLIT_AND_ORIGINAL", why: restWhy(held?.why, segments), parts };
  return { route, routeRanges, fallback };
}

function outside(segments: readonly RouteSegment[]): PartitionRoute {
  const why = `what was asked for is outside the split, which ends at ${endOf(segments)}`;
  return { route: "ORIGINAL_NOT_SPLIT", why, parts: 0 };
}

function restWhy(heldWhy: string | undefined, segments: readonly RouteSegment[]): string {
  if (heldWhy !== undefined) return `some of it comes from the original: ${heldWhy}`;
  return `event time before ${endOf(segments)} is split, the rest is not`;
}

function endOf(segments: readonly RouteSegment[]): string {
  return formatTime(segments.at(-1)?.to ?? 0);
}

function partsOf(segment: RouteSegment | undefined): number {
  return (segment?.partRanges ?? []).reduce((sum, { count }) => sum + count, 0);
}

/** Cuts what is still to be read where segments begin and end, in the order of the read. */
function cutByTime(
  segments: readonly RouteSegment[],
  { from, to, order, after }: RouteQuestion["range"],
): RouteRange[] {
  const oldestFirst = order === "OLDEST_FIRST";
  const start = after !== undefined && oldestFirst ? Math.max(from, after.time) : from;
  const end = after !== undefined && !oldestFirst ? Math.min(to, after.time + 1) : to;
  const routeRanges: RouteRange[] = [];
  const add = (first: number, behind: number, segment: RouteSegment | undefined): void => {
    const [low, high] = [Math.max(start, first), Math.min(end, behind)];
    if (low >= high) return;
    routeRanges.push({ from: low, to: high, segment, readFrom: "ORIGINAL", compare: "NO" });
  };
  let at = start;
  for (const segment of segments) {
    add(at, segment.from, undefined);
    add(segment.from, segment.to, segment);
    at = Math.max(at, segment.to);
  }
  add(at, end, undefined);
  return oldestFirst ? routeRanges : routeRanges.toReversed();
}

/**
 * Joins neighbours that are read from the original without a comparison into one scan, if both are
 * covered or neither is.
 */
function joinPlain(routeRanges: readonly RouteRange[]): RouteRange[] {
  const joined: RouteRange[] = [];
  for (const routeRange of routeRanges) {
    const before = joined.at(-1);
    if (
      before !== undefined &&
      isPlain(before) &&
      isPlain(routeRange) &&
      sameCover(before, routeRange)
    ) {
      const from = Math.min(before.from, routeRange.from);
      const to = Math.max(before.to, routeRange.to);
      joined[joined.length - 1] = { ...before, from, to };
    } else joined.push(routeRange);
  }
  return joined;
}

function isPlain({ readFrom, compare }: RouteRange): boolean {
  return readFrom === "ORIGINAL" && compare === "NO";
}

function sameCover(a: RouteRange, b: RouteRange): boolean {
  return (a.segment === undefined) === (b.segment === undefined);
}
