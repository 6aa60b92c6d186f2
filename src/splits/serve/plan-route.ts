/**
 * Decides from where each stretch of a partition is read, and what is compared. Pure.
 *
 * The split gives what it covers and may be trusted with; the original gives the rest. One stretch of time
 * has one source.
 */
import type { NamespaceView } from "../../model/namespace.ts";
import { kindName, kindOf, servesKind } from "../../model/split-kind.ts";
import type { ReadMode, ReadModeState } from "../../model/read-mode.ts";
import type { RouteRecord, RouteSegment } from "../../model/split.ts";
import type { PartitionRoute } from "../../partition/partition-source.ts";
import type { CompareHow } from "../../parts/range-sum.ts";
import type { Order } from "../../ports/event-store.ts";
import { formatTime } from "../../wire/time-text.ts";
import type { Position } from "../../wire/frames.ts";
import type { FallbackReason } from "./observer.ts";

/** UNSEEN: nothing of it was compared on this server yet. SUSPECT: a difference is being looked into. */
export type TrustState = "UNSEEN" | "PROVEN" | "QUARANTINED";

/** Event time with one source, `from` included, `to` not. */
export interface RouteRange {
  readonly from: number;
  readonly to: number;
  /** The segment that covers it, if one does. */
  readonly segment: RouteSegment | undefined;
  readonly readFrom: "SPLIT" | "ORIGINAL";
  readonly compare: CompareHow;
}

export interface RoutePlan {
  readonly route: PartitionRoute;
  /** In the order of the read. */
  readonly routeRanges: readonly RouteRange[];
  /** Set where a split is there that may not be used. */
  readonly fallback: FallbackReason | undefined;
}

export interface RouteQuestion {
  /** As it is now; undefined if this server has none, or no kill switch, that is young enough (rule C3). */
  readonly view: NamespaceView | undefined;
  readonly killed: boolean;
  readonly route: RouteRecord | undefined;
  readonly range: {
    readonly from: number;
    readonly to: number;
    readonly order: Order;
    readonly after: Position | undefined;
  };
  readonly trustOf: (segment: RouteSegment) => TrustState;
  /** Whether this read is one of those that are compared where not all are. */
  readonly sampled: boolean;
}

/** Who cannot ask reads originals, which are always right; but a split that is paid for stands idle. */
export const STALE_WHY = "the namespace or the kill switch could not be asked for lately";

export function planRoute(question: RouteQuestion): RoutePlan {
  const { view, route, killed } = question;
  if (route === undefined || route.segments.length === 0) {
    return plainRead(question, [], "the partition is not split");
  }
  if (killed) return plainRead(question, route.segments, "the kill switch is on");
  if (view === undefined) {
    const plain = plainRead(question, route.segments, STALE_WHY);
    return { ...plain, route: original(STALE_WHY, "stale"), fallback: "stale" };
  }
  const { epoch, readMode } = view.namespace;
  if (route.epoch !== epoch) {
    const why = `the split is of epoch ${route.epoch}, the namespace is at ${epoch}: its time was opened again`;
    // What it covers does not count as covered any more.
    const plain = plainRead(question, [], why);
    return { ...plain, route: original(why, "epoch"), fallback: "epoch" };
  }
  const { mode } = readMode;
  if (mode === "OFF") return plainRead(question, route.segments, "the read mode is OFF");
  const routeRanges = joinPlain(
    cutByTime(route.segments, question.range).map((routeRange) =>
      decide(routeRange, modeFor(readMode, routeRange.segment), question),
    ),
  );
  if (mode !== "SERVE") {
    return { route: original(`the read mode is ${mode}`), routeRanges, fallback: undefined };
  }
  return servedPlan(route, routeRanges, readMode, question.trustOf);
}

/** A kind of split without evidence of its own is compared where others are served (rule C13). */
function modeFor(readMode: ReadModeState, segment: RouteSegment | undefined): ReadMode {
  const { mode } = readMode;
  if (mode !== "SERVE" || segment === undefined || servesKind(readMode, segment)) return mode;
  return "COMPARE";
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
  // One that is suspect is read again at ALL: comparing it here would tell nothing new.
  if (trust === "QUARANTINED") return routeRange;
  // Each split's first reads are compared, whatever the mode (rule C13).
  if (trust === "UNSEEN" || mode === "COMPARE") return { ...routeRange, compare: "DIGEST" };
  const sampled = question.sampled;
  if (mode === "SHADOW") return { ...routeRange, compare: sampled ? "SIZES" : "NO" };
  if (!segment.confirmed) return routeRange;
  return { ...routeRange, readFrom: "SPLIT", compare: sampled ? "DIGEST" : "NO" };
}

function servedPlan(
  { segments }: RouteRecord,
  routeRanges: readonly RouteRange[],
  readMode: ReadModeState,
  trustOf: (segment: RouteSegment) => TrustState,
): RoutePlan {
  const split = routeRanges.filter(({ readFrom }) => readFrom === "SPLIT");
  const covered = routeRanges.filter(({ segment }) => segment !== undefined);
  const held = covered.find(({ readFrom }) => readFrom === "ORIGINAL")?.segment;
  const fallback =
    held === undefined
      ? undefined
      : trustOf(held) === "QUARANTINED"
        ? "quarantined"
        : held.confirmed
          ? undefined
          : "unconfirmed";
  const why = (): string => heldWhy(held, fallback, segments, readMode);
  if (split.length === 0) return { route: original(why(), fallback), routeRanges, fallback };
  const parts = split.reduce((sum, { segment }) => sum + partsOf(segment), 0);
  const whole = split.length === routeRanges.length;
  const route: PartitionRoute = whole
    ? { route: "SPLIT", why: "all that was asked for is split", parts }
    : { route: "SPLIT_AND_ORIGINAL", why: restWhy(held, why, segments), parts };
  return { route, routeRanges, fallback };
}

function heldWhy(
  held: RouteSegment | undefined,
  fallback: FallbackReason | undefined,
  segments: readonly RouteSegment[],
  readMode: ReadModeState,
): string {
  if (fallback === "quarantined")
    return "a difference between split and original is being looked into";
  if (fallback === "unconfirmed")
    return "no second read of the original has confirmed the split yet";
  if (held !== undefined && !servesKind(readMode, held)) {
    return `its kind of split, ${kindName(kindOf(held))}, is compared until it has evidence of its own`;
  }
  if (held !== undefined) return "the first read of a split on each server is compared with it";
  const end = segments.at(-1)?.to ?? 0;
  return `what was asked for is outside the split, which ends at ${formatTime(end)}`;
}

function restWhy(
  held: RouteSegment | undefined,
  why: () => string,
  segments: readonly RouteSegment[],
): string {
  if (held !== undefined) return `some of it comes from the original: ${why()}`;
  const end = segments.at(-1)?.to ?? 0;
  return `event time before ${formatTime(end)} is split, the rest is not`;
}

function plainRead(
  { range }: RouteQuestion,
  segments: readonly RouteSegment[],
  why: string,
): RoutePlan {
  const routeRanges = joinPlain(cutByTime(segments, range));
  return { route: original(why), routeRanges, fallback: undefined };
}

/** A split that is there and may not be used is fallen back from. */
function original(why: string, fallback?: FallbackReason): PartitionRoute {
  const route = fallback === undefined ? "ORIGINAL_NOT_SPLIT" : "ORIGINAL_FALLBACK";
  return { route, why, parts: 0 };
}

function partsOf(segment: RouteSegment | undefined): number {
  return (segment?.partRanges ?? []).reduce((sum, { count }) => sum + count, 0);
}

/** What is still to be read, cut where segments begin and end, in the order of the read. */
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

/** Neighbours that the original gives, all covered or none, without a comparison, are one scan. */
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
