/**
 * Whether the evidence moves a namespace's read mode on: pure.
 *
 * Evidence is for what it saw (rule C13): each kind of split, that is layout and strategy, has to
 * pass for itself, in this round of the mode and nothing from before. One difference keeps the mode
 * where it is, whatever else agreed, and so does one that is not settled yet (rule C14). OFF is an
 * operator's word and is never left by itself. SERVE is for the kinds that have passed; one that
 * comes later passes for itself before it is served.
 */
import { UNSETTLED_FOR_MS } from "../record/read-modes.ts";
import type { StoredEvidence } from "../record/read-modes.ts";
import { READ_MODES } from "../../model/read-mode.ts";
import type { Evidence, ReadMode, ReadModeState, SplitKind } from "../../model/read-mode.ts";
import { kindName } from "../../model/split-kind.ts";

export interface AdvanceThresholds {
  /** Reads of each kind to be compared in SHADOW, and in COMPARE. */
  readonly shadowReads: number;
  readonly compareReads: number;
  /** Bytes of each kind that have to be equal. */
  readonly bytes: number;
  /** The least time in a mode. */
  readonly afterMs: number;
}

/** The defaults of `splits.advance_reads`, `advance_bytes` and `advance_after`. */
export const DEFAULT_ADVANCE: AdvanceThresholds = {
  shadowReads: 100,
  compareReads: 100,
  bytes: 16 * 1024 ** 2,
  afterMs: 600_000,
};

export type Advance =
  | {
      readonly kind: "advance";
      /** The mode it is in already where only kinds are added. */
      readonly to: ReadMode;
      /** Those that have passed, by name: what SERVE is for. */
      readonly kinds: readonly string[];
      readonly why: string;
    }
  | ({ readonly kind: "stay" } & Obstacle);

/** Why a mode stays: the cause for code, the rest for people. */
interface Obstacle {
  readonly cause:
    | "last-mode"
    | "off"
    | "differed"
    | "unsettled"
    | "nothing-compared"
    | "few-reads"
    | "few-bytes"
    | "too-soon";
  readonly why: string;
}

/** What follows a mode; undefined at the last. */
export function modeAfter(mode: ReadMode): ReadMode | undefined {
  return READ_MODES[READ_MODES.indexOf(mode) + 1];
}

/** Whether the first trusts splits more than the second. */
export function isFurther(mode: ReadMode, than: ReadMode): boolean {
  return READ_MODES.indexOf(mode) > READ_MODES.indexOf(than);
}

/**
 * `kindsInUse`: of the splits there are, where that is known. Evidence for a kind that is no longer
 * in use is not waited for, and one that is in use and was never compared is.
 */
export function advance(
  state: ReadModeState,
  evidence: readonly StoredEvidence[],
  kindsInUse: readonly SplitKind[] | undefined,
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
      why: `${kindName(differed)}: ${count(differed.bytesDiffered)} bytes differed in this round; find out why, then set the mode with force to begin again`,
    });
  }
  for (const seen of current) {
    const unsettled = notSettled(seen, nowMicros);
    if (unsettled !== undefined) return stay(unsettled, `${kindName(seen)}: `);
  }
  const kinds = kindsInUse ?? current;
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
  // Also of kinds that were in use while it was gathered: they may be met again.
  const passed = current.filter(
    (seen) => missingFor(seen, current, state.mode, thresholds) === undefined,
  );
  return { kind: "advance", to, kinds: passed.map(kindName), why: whatPassed(current) };
}

/** Which further kinds SERVE is for; they have to pass what COMPARE asks for. */
function serveMore(
  { kinds, round }: ReadModeState,
  evidence: readonly StoredEvidence[],
  kindsInUse: readonly SplitKind[] | undefined,
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
 * Why to wait, if a server had a difference to settle a moment ago. That it is settled shows by its
 * silence.
 */
function notSettled(seen: StoredEvidence | undefined, nowMicros: number): Obstacle | undefined {
  if (seen?.unsettledAt === undefined) return undefined;
  const agoMs = (nowMicros - seen.unsettledAt) / 1_000;
  if (agoMs >= UNSETTLED_FOR_MS) return undefined;
  return {
    cause: "unsettled",
    why: `a difference was not settled ${seconds(agoMs)} ago: that takes every replica; the mode may advance ${seconds(UNSETTLED_FOR_MS)} after it is settled`,
  };
}

/** What a kind lacks, if anything. */
function missingFor(
  kind: SplitKind,
  current: readonly Evidence[],
  mode: ReadMode,
  { shadowReads, compareReads, bytes }: AdvanceThresholds,
): Obstacle | undefined {
  const found = current.find((each) => isSame(each, kind));
  const reads = mode === "SHADOW" ? shadowReads : compareReads;
  if ((found?.readsCompared ?? 0) < reads) {
    const why = `${count(found?.readsCompared ?? 0)} of at least ${count(reads)} reads compared`;
    return { cause: "few-reads", why };
  }
  if ((found?.bytesMatched ?? 0) < bytes) {
    const why = `${count(found?.bytesMatched ?? 0)} of at least ${count(bytes)} bytes were equal`;
    return { cause: "few-bytes", why };
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
  return { cause: "differed", why: `${count(bytesDiffered)} bytes differed in this round` };
}

function whatPassed(current: readonly Evidence[]): string {
  let [reads, bytes] = [0, 0];
  for (const { readsCompared, bytesMatched } of current) {
    reads += readsCompared;
    bytes += bytesMatched;
  }
  return `${count(reads)} reads compared, ${count(bytes)} bytes equal, none differed`;
}

function isSame(a: SplitKind, b: SplitKind): boolean {
  return kindName(a) === kindName(b);
}

const NOTHING_MORE: Obstacle = { cause: "last-mode", why: "" };

function stay({ cause, why }: Obstacle, before = ""): Advance {
  return { kind: "stay", cause, why: `${before}${why}` };
}

function seconds(ms: number): string {
  return `${count(Math.max(0, Math.floor(ms / 1_000)))} s`;
}

function count(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}
