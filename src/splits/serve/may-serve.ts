/**
 * The one rule that decides whether a segment of a split may be served. Pure, and without
 * allocation: a read asks when it plans, and again before each fetch from the split.
 */
import { isSealed } from "../../model/epochs.ts";
import type { Namespace } from "../../model/namespace.ts";
import { kindName, kindOf, servesKind } from "../../model/split-kind.ts";
import type { RouteRecord, RouteSegment } from "../../model/split.ts";
import type { PartitionRoute, RouteName } from "../../partition/partition-source.ts";
import type { FallbackReason } from "./fallback-reason.ts";

/**
 * UNSEEN: this server has compared nothing of the copy yet. QUARANTINED: a difference is being
 * rechecked.
 */
export type TrustState = "UNSEEN" | "PROVEN" | "QUARANTINED";

/** What this server knows now about a partition's split. */
export interface ServeFacts {
  /**
   * Undefined if the server has no view, or no kill switch, younger than `viewMaxAge` (rule C3).
   */
  readonly namespace: Pick<Namespace, "epochStarts" | "readMode"> | undefined;
  readonly killed: boolean;
  readonly route: RouteRecord | undefined;
}

/** Why the original is read although a split may exist. */
export type HeldCause =
  /** The partition has no split. */
  | "NOT_SPLIT"
  /** It had a split, which was rolled back, invalidated, or is copied again. */
  | "TAKEN_BACK"
  | "KILL_SWITCH"
  /** The view of the namespace, or the kill switch, is older than `viewMaxAge`. */
  | "STALE"
  /** A later epoch has opened the time of the copy again (rule C3). */
  | "EPOCH"
  /** The read mode is not SERVE. */
  | "MODE"
  | "QUARANTINED"
  /** Its kind of split has no evidence of its own yet (rule C13). */
  | "KIND"
  /** No second read of the original has agreed yet (rule C6). */
  | "UNCONFIRMED"
  /** Each server compares its first read of a split (rule C13). */
  | "FIRST_COMPARISON";

/**
 * HELD is a decision, FALLBACK is a problem; `fallback` is the reason under which it is counted.
 */
const HELD_AS: Readonly<Record<HeldCause, { route: RouteName; fallback?: FallbackReason }>> = {
  NOT_SPLIT: { route: "ORIGINAL_NOT_SPLIT" },
  // The route alone does not show why it is empty: `explain` reads the split's record.
  TAKEN_BACK: { route: "ORIGINAL_NOT_SPLIT" },
  KILL_SWITCH: { route: "ORIGINAL_HELD" },
  STALE: { route: "ORIGINAL_FALLBACK", fallback: "stale" },
  EPOCH: { route: "ORIGINAL_FALLBACK", fallback: "epoch" },
  MODE: { route: "ORIGINAL_HELD" },
  QUARANTINED: { route: "ORIGINAL_FALLBACK", fallback: "quarantined" },
  KIND: { route: "ORIGINAL_HELD" },
  UNCONFIRMED: { route: "ORIGINAL_HELD", fallback: "unconfirmed" },
  FIRST_COMPARISON: { route: "ORIGINAL_HELD" },
};

/** "YES", or the cause that holds it back. */
export function mayServe(
  facts: ServeFacts,
  segment: RouteSegment,
  trust: TrustState,
): "YES" | HeldCause {
  const held = heldWhole(facts);
  if (held !== undefined) return held;
  // `heldWhole` has checked both; this line is for the type checker.
  if (facts.route === undefined || facts.namespace === undefined) return "NOT_SPLIT";
  const listed = listedAs(facts.route, segment);
  if (listed === undefined) return "TAKEN_BACK";
  if (!isSealed(facts.namespace.epochStarts, listed)) return "EPOCH";
  if (trust === "QUARANTINED") return "QUARANTINED";
  if (!servesKind(facts.namespace.readMode, segment)) return "KIND";
  if (!listed.confirmed) return "UNCONFIRMED";
  return trust === "UNSEEN" ? "FIRST_COMPARISON" : "YES";
}

/** The cause that holds back every segment of the partition, if any. */
export function heldWhole({ namespace, killed, route }: ServeFacts): HeldCause | undefined {
  if (route === undefined) return "NOT_SPLIT";
  if (route.segments.length === 0) return "TAKEN_BACK";
  if (killed) return "KILL_SWITCH";
  if (namespace === undefined) return "STALE";
  return namespace.readMode.mode === "SERVE" ? undefined : "MODE";
}

export function heldRoute(
  cause: HeldCause,
  facts: ServeFacts,
  segment?: RouteSegment,
): PartitionRoute {
  return { route: HELD_AS[cause].route, why: heldWhy(cause, facts, segment), parts: 0 };
}

export function fallbackFor(cause: HeldCause): FallbackReason | undefined {
  return HELD_AS[cause].fallback;
}

/** Finds the same copy of the same time: a recopy has another generation. */
function listedAs({ segments }: RouteRecord, segment: RouteSegment): RouteSegment | undefined {
  for (const listed of segments) {
    if (listed.generation === segment.generation && listed.from === segment.from) return listed;
  }
  return undefined;
}

function heldWhy(
  cause: HeldCause,
  { namespace }: ServeFacts,
  segment: RouteSegment | undefined,
): string {
  switch (cause) {
    case "NOT_SPLIT":
      return "the partition is not split";
    case "TAKEN_BACK":
      return "its split was taken back";
    case "KILL_SWITCH":
      return "the kill switch is on";
    case "STALE":
      return STALE_WHY;
    case "EPOCH":
      return "its time was opened again after it was copied; it is copied again when it is sealed";
    case "MODE":
      return `the read mode is ${namespace?.readMode.mode}`;
    case "QUARANTINED":
      return "a difference between split and original is being checked";
    case "KIND": {
      const kind = segment === undefined ? "" : `, ${kindName(kindOf(segment))},`;
      return `its kind of split${kind} is compared until it has evidence of its own`;
    }
    case "UNCONFIRMED":
      return "no second read of the original has confirmed the split yet";
    case "FIRST_COMPARISON":
      return "each server compares its first read of a split with the original";
  }
}

/** A server whose shared state is too old reads originals, which are always right. */
export const STALE_WHY = "this server's view of the namespace or of the kill switch is too old";
