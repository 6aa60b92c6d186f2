/**
 * Decides whether the evidence advances a namespace's read mode. Pure.
 *
 * Evidence counts only for what was compared (rule C13): each kind of split, that is layout and
 * strategy, must pass separately, with evidence from the current round of the mode only. The reads
 * must be spread over several splits, or over all of the kind if there are fewer (rule C29). One
 * difference keeps the mode where it is, whatever else agreed, and so does a difference that is not
 * settled yet (rule C14). Only an operator leaves OFF. SERVE applies to the kinds that have passed;
 * a kind that appears later must pass before it is served.
 */
import { formatCount, quantity } from "../../lib/quantity.ts";
import { UNSETTLED_FOR_MS } from "../../records/evidence-records.ts";
import type { SummedEvidence } from "../../records/evidence-records.ts";
import { READ_MODES } from "../../model/read-mode.ts";
import type { Evidence, ReadMode, ReadModeState, SplitKind } from "../../model/read-mode.ts";
import { kindName } from "../../model/split-kind.ts";

export interface AdvanceThresholds {
  /** Reads of each kind that must be compared in SHADOW, and in COMPARE. */
  readonly shadowReads: number;
  readonly compareReads: number;
  /** Bytes of each kind that must be equal. */
  readonly bytes: number;
  /** Distinct splits of each kind that must be compared; all of the kind if there are fewer. */
  readonly splits: number;
  /** The minimum time in a mode. */
  readonly afterMs: number;
}

/** A kind of the splits that exist, and how many of them: up to `SPLIT_MARKS_MAX` are counted. */
export interface KindInUse extends SplitKind {
  readonly splits: number;
}

/** The defaults of `splits.advance_reads` and the settings beside it. */
export const DEFAULT_ADVANCE: AdvanceThresholds = {
  shadowReads: 100,
  compareReads: 100,
  bytes: 16 * 1024 ** 2,
  splits: 10,
  afterMs: 600_000,
};

export type Advance =
  | {
      readonly kind: "advance";
      /** The present mode if only kinds are added. */
      readonly to: ReadMode;
      /** The names of the kinds that have passed: SERVE applies to these. */
      readonly kinds: readonly string[];
      readonly why: string;
    }
  | ({ readonly kind: "stay" } & Obstacle);

/** Why a mode does not advance: the cause for code, the rest for people. */
interface Obstacle {
  readonly cause:
    | "last-mode"
    | "off"
    | "differed"
    | "unsettled"
    | "nothing-compared"
    | "few-reads"
    | "few-bytes"
    | "few-splits"
    | "too-soon";
  readonly why: string;
}

/** The mode that follows; undefined for the last one. */
export function modeAfter(mode: ReadMode): ReadMode | undefined {
  return READ_MODES[READ_MODES.indexOf(mode) + 1];
}

/** Whether the first mode trusts splits more than the second. */
export function isFurther(mode: ReadMode, than: ReadMode): boolean {
  return READ_MODES.indexOf(mode) > READ_MODES.indexOf(than);
}

/**
 * `kindsInUse`: the kinds of the existing splits, if known. The mode does not wait for evidence for
 * a kind that is no longer in use, and does wait for a kind that is in use but was never compared.
 * `evidence`: of any round.
 */
export function advance(
  state: ReadModeState,
  evidence: readonly SummedEvidence[],
  kindsInUse: readonly KindInUse[] | undefined,
  thresholds: AdvanceThresholds,
  nowMicros: number,
): Advance {
  const to = modeAfter(state.mode);
  if (to === undefined) return serveMore(state, evidence, kindsInUse, thresholds, nowMicros);
  if (state.mode === "OFF")
    return stay({ cause: "off", why: "OFF is left only when an operator says so" });
  const current = evidence.filter(({ round }) => round === state.round);
  const differed = current.find(({ bytesDiffered }) => bytesDiffered > 0);
  if (differed !== undefined) {
    return stay({
      cause: "differed",
      why: `${kindName(differed)}: ${quantity(differed.bytesDiffered, "byte")} differed in this round; find out why, then set the mode with force to begin again`,
    });
  }
  for (const seen of evidence) {
    const unsettled = notSettled(seen, nowMicros);
    if (unsettled !== undefined) return stay(unsettled, `${kindName(seen)}: `);
  }
  const kinds: readonly (SplitKind & Partial<KindInUse>)[] = kindsInUse ?? current;
  if (kinds.length === 0) {
    return stay({
      cause: "nothing-compared",
      why: "no split was compared yet: it takes reads of partitions that are split",
    });
  }
  for (const kind of kinds) {
    const missing = missingFor(kind, current, state.mode, thresholds);
    if (missing !== undefined) return stay(missing, `${kindName(kind)}: `);
  }
  const early = tooSoon(nowMicros - state.since, thresholds, state.mode);
  if (early !== undefined) return stay(early);
  // Includes kinds that were in use while the evidence was gathered: reads may meet them again.
  const passed = current.filter((seen) => {
    const kind = kinds.find((each) => isSame(each, seen)) ?? seen;
    return missingFor(kind, current, state.mode, thresholds) === undefined;
  });
  return { kind: "advance", to, kinds: passed.map(kindName), why: whatPassed(current) };
}

/** The further kinds to which SERVE applies; they must pass the thresholds of COMPARE. */
function serveMore(
  { kinds, round }: ReadModeState,
  evidence: readonly SummedEvidence[],
  kindsInUse: readonly KindInUse[] | undefined,
  thresholds: AdvanceThresholds,
  nowMicros: number,
): Advance {
  if (kinds === null) return stay(NOTHING_MORE);
  const current = evidence.filter((seen) => seen.round === round);
  const waiting = (kindsInUse ?? current).filter((kind) => !kinds.includes(kindName(kind)));
  const passed: Evidence[] = [];
  let first: Advance | undefined;
  for (const kind of waiting) {
    const found = current.find((each) => isSame(each, kind));
    const missing =
      found !== undefined && found.bytesDiffered > 0
        ? differedIn(found)
        : (notSettled(found, nowMicros) ??
          missingFor(kind, current, "COMPARE", thresholds) ??
          tooSoon(nowMicros - (found?.since ?? nowMicros), thresholds, "comparing it"));
    if (missing === undefined && found !== undefined) passed.push(found);
    else if (missing !== undefined)
      first ??= stay(missing, `${kindName(kind)} is not served yet: `);
  }
  if (passed.length === 0) return first ?? stay(NOTHING_MORE);
  const names = passed.map(kindName);
  const reason = `${names.join(", ")} served too: ${whatPassed(passed)}`;
  return { kind: "advance", to: "SERVE", kinds: [...kinds, ...names], why: reason };
}

/**
 * The reason to wait, if a server recently reported an unsettled difference. A difference counts as
 * settled when the reports stop.
 */
function notSettled(seen: SummedEvidence | undefined, nowMicros: number): Obstacle | undefined {
  if (seen?.unsettledAt === undefined) return undefined;
  const agoMs = (nowMicros - seen.unsettledAt) / 1_000;
  if (agoMs >= UNSETTLED_FOR_MS) return undefined;
  return {
    cause: "unsettled",
    why: `a difference was not settled ${seconds(agoMs)} ago: that takes every replica; the mode may advance ${seconds(UNSETTLED_FOR_MS)} after it is settled`,
  };
}

/** What a kind still lacks, if anything. */
function missingFor(
  kind: SplitKind & Partial<KindInUse>,
  current: readonly Evidence[],
  mode: ReadMode,
  { shadowReads, compareReads, bytes, splits }: AdvanceThresholds,
): Obstacle | undefined {
  const found = current.find((each) => isSame(each, kind));
  const reads = mode === "SHADOW" ? shadowReads : compareReads;
  if ((found?.readsCompared ?? 0) < reads) {
    const why = `${formatCount(found?.readsCompared ?? 0)} of at least ${quantity(reads, "read")} compared`;
    return { cause: "few-reads", why };
  }
  if ((found?.bytesMatched ?? 0) < bytes) {
    const why = `${formatCount(found?.bytesMatched ?? 0)} of at least ${quantity(bytes, "byte")} equal`;
    return { cause: "few-bytes", why };
  }
  // Where it is not known how many there are, there may be many.
  const distinct = Math.min(splits, kind.splits ?? splits);
  if ((found?.splitsCompared ?? 0) < distinct) {
    const why = `reads of ${formatCount(found?.splitsCompared ?? 0)} of at least ${quantity(distinct, "split")} compared`;
    return { cause: "few-splits", why };
  }
  return undefined;
}

function tooSoon(
  micros: number,
  { afterMs }: AdvanceThresholds,
  where: string,
): Obstacle | undefined {
  if (micros >= afterMs * 1_000) return undefined;
  const why = `${seconds(micros / 1_000)} of at least ${seconds(afterMs)} have passed in ${where}`;
  return { cause: "too-soon", why };
}

function differedIn({ bytesDiffered }: Evidence): Obstacle {
  return { cause: "differed", why: `${quantity(bytesDiffered, "byte")} differed in this round` };
}

function whatPassed(current: readonly Evidence[]): string {
  let [reads, bytes] = [0, 0];
  for (const { readsCompared, bytesMatched } of current) {
    reads += readsCompared;
    bytes += bytesMatched;
  }
  return `${quantity(reads, "read")} compared, ${quantity(bytes, "byte")} equal, none differed`;
}

function isSame(a: SplitKind, b: SplitKind): boolean {
  return kindName(a) === kindName(b);
}

const NOTHING_MORE: Obstacle = { cause: "last-mode", why: "" };

function stay({ cause, why }: Obstacle, before = ""): Advance {
  return { kind: "stay", cause, why: `${before}${why}` };
}

function seconds(ms: number): string {
  return `${formatCount(Math.max(0, Math.floor(ms / 1_000)))} s`;
}
