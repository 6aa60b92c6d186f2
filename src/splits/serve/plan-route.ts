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
import type { CompareHow } from "../../parts/stretch-sum.ts";
import type { Order } from "../../ports/event-store.ts";
import { formatTime } from "../../wire/time-text.ts";
import type { Position } from "../../wire/frames.ts";
import type { FallbackReason } from "./observer.ts";

/** UNSEEN: nothing of it was compared on this server yet. SUSPECT: a difference is being looked into. */
export type Standing = "UNSEEN" | "PROVEN" | "SUSPECT";

/** Event time with one source, `from` included, `to` not. */
export interface Stretch {
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
  readonly stretches: readonly Stretch[];
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
  readonly standingOf: (segment: RouteSegment) => Standing;
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
  const stretches = joinPlain(
    cutByTime(route.segments, question.range).map((stretch) =>
      decide(stretch, modeFor(readMode, stretch.segment), question),
    ),
  );
  if (mode !== "SERVE") {
    return { route: original(`the read mode is ${mode}`), stretches, fallback: undefined };
  }
  return servedPlan(route, stretches, readMode, question.standingOf);
}

/** A kind of split without evidence of its own is compared where others are served (rule C13). */
function modeFor(readMode: ReadModeState, segment: RouteSegment | undefined): ReadMode {
  const { mode } = readMode;
  if (mode !== "SERVE" || segment === undefined || servesKind(readMode, segment)) return mode;
  return "COMPARE";
}

/** Reads everything from the original and compares nothing. */
export function plainPlan(plan: RoutePlan): RoutePlan {
  const plain = plan.stretches.map((stretch) => ({
    ...stretch,
    readFrom: "ORIGINAL" as const,
    compare: "NO" as const,
  }));
  return { ...plan, stretches: plain };
}

function decide(stretch: Stretch, mode: ReadMode, question: RouteQuestion): Stretch {
  const { segment } = stretch;
  if (segment === undefined) return stretch;
  const standing = question.standingOf(segment);
  // One that is suspect is read again at ALL: comparing it here would tell nothing new.
  if (standing === "SUSPECT") return stretch;
  // Each split's first reads are compared, whatever the mode (rule C13).
  if (standing === "UNSEEN" || mode === "COMPARE") return { ...stretch, compare: "DIGEST" };
  const sampled = question.sampled;
  if (mode === "SHADOW") return { ...stretch, compare: sampled ? "SIZES" : "NO" };
  if (!segment.confirmed) return stretch;
  return { ...stretch, readFrom: "SPLIT", compare: sampled ? "DIGEST" : "NO" };
}

function servedPlan(
  { segments }: RouteRecord,
  stretches: readonly Stretch[],
  readMode: ReadModeState,
  standingOf: (segment: RouteSegment) => Standing,
): RoutePlan {
  const split = stretches.filter(({ readFrom }) => readFrom === "SPLIT");
  const covered = stretches.filter(({ segment }) => segment !== undefined);
  const held = covered.find(({ readFrom }) => readFrom === "ORIGINAL")?.segment;
  const fallback =
    held === undefined
      ? undefined
      : standingOf(held) === "SUSPECT"
        ? "suspect"
        : held.confirmed
          ? undefined
          : "unconfirmed";
  const why = (): string => heldWhy(held, fallback, segments, readMode);
  if (split.length === 0) return { route: original(why(), fallback), stretches, fallback };
  const parts = split.reduce((sum, { segment }) => sum + partsOf(segment), 0);
  const whole = split.length === stretches.length;
  const route: PartitionRoute = whole
    ? { route: "SPLIT", why: "all that was asked for is split", parts }
    : { route: "SPLIT_AND_ORIGINAL", why: restWhy(held, why, segments), parts };
  return { route, stretches, fallback };
}

function heldWhy(
  held: RouteSegment | undefined,
  fallback: FallbackReason | undefined,
  segments: readonly RouteSegment[],
  readMode: ReadModeState,
): string {
  if (fallback === "suspect") return "a difference between split and original is being looked into";
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
  const stretches = joinPlain(cutByTime(segments, range));
  return { route: original(why), stretches, fallback: undefined };
}

/** A split that is there and may not be used is fallen back from. */
function original(why: string, fallback?: FallbackReason): PartitionRoute {
  const route = fallback === undefined ? "ORIGINAL_NOT_SPLIT" : "ORIGINAL_FALLBACK";
  return { route, why, parts: 0 };
}

function partsOf(segment: RouteSegment | undefined): number {
  return (segment?.runs ?? []).reduce((sum, { count }) => sum + count, 0);
}

/** What is still to be read, cut where segments begin and end, in the order of the read. */
function cutByTime(
  segments: readonly RouteSegment[],
  { from, to, order, after }: RouteQuestion["range"],
): Stretch[] {
  const oldestFirst = order === "OLDEST_FIRST";
  const start = after !== undefined && oldestFirst ? Math.max(from, after.time) : from;
  const end = after !== undefined && !oldestFirst ? Math.min(to, after.time + 1) : to;
  const stretches: Stretch[] = [];
  const add = (first: number, behind: number, segment: RouteSegment | undefined): void => {
    const [low, high] = [Math.max(start, first), Math.min(end, behind)];
    if (low >= high) return;
    stretches.push({ from: low, to: high, segment, readFrom: "ORIGINAL", compare: "NO" });
  };
  let at = start;
  for (const segment of segments) {
    add(at, segment.from, undefined);
    add(segment.from, segment.to, segment);
    at = Math.max(at, segment.to);
  }
  add(at, end, undefined);
  return oldestFirst ? stretches : stretches.toReversed();
}

/** Neighbours that the original gives, all covered or none, without a comparison, are one scan. */
function joinPlain(stretches: readonly Stretch[]): Stretch[] {
  const joined: Stretch[] = [];
  for (const stretch of stretches) {
    const before = joined.at(-1);
    if (before !== undefined && isPlain(before) && isPlain(stretch) && sameCover(before, stretch)) {
      const from = Math.min(before.from, stretch.from);
      const to = Math.max(before.to, stretch.to);
      joined[joined.length - 1] = { ...before, from, to };
    } else joined.push(stretch);
  }
  return joined;
}

function isPlain({ readFrom, compare }: Stretch): boolean {
  return readFrom === "ORIGINAL" && compare === "NO";
}

function sameCover(a: Stretch, b: Stretch): boolean {
  return (a.segment === undefined) === (b.segment === undefined);
}
