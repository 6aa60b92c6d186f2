/**
 * Decides whether the partitioning of future slices should change. Pure: the same stored facts give
 * the same decision, whichever process decides.
 *
 * The evidence is the two newest sealed slices that hold enough, have the present partitioning and
 * lived under it as events arrived. Both must miss the target on the same side: one unusual slice (a
 * holiday, a burst) moves nothing. Slices that were filled or re-opened later do not count: a
 * backfill says nothing about the future. Nor do slices from before the namespace had another
 * partitioning. Slices that have ended since and still take late events must not contradict. While a decided partitioning has not shown its effect, nothing else is decided.
 */
import { isDeepStrictEqual } from "node:util";
import type { NamespaceConfig, TimePartition } from "../model/namespace-config.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";
import type { NoTuning } from "../model/no-tuning.ts";
import type { SliceHistogram } from "../model/slice-histogram.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import type { Tuning, TunedSizes } from "../model/tuning.ts";
import { READ_ACTIVITY_MICROS } from "../records/read-activity-records.ts";
import { choosePartitioning } from "./choose-partitioning.ts";
import { differ, judgeSizes } from "./judge-sizes.ts";
import type { SizeVerdict } from "./judge-sizes.ts";
import { SizePrediction } from "./predict-sizes.ts";

export interface TuningFacts {
  readonly config: NamespaceConfig;
  /** Event time at which the namespace was created: earlier slices were backfilled. */
  readonly createdAt: number;
  /** Whether a later epoch re-opened a slice after it was observed (rule C3). */
  readonly isReopened: (histogram: SliceHistogram) => boolean;
  /**
   * When a caller last read the namespace, or up to READ_ACTIVITY_MICROS before that; undefined if
   * nobody did.
   */
  readonly lastReadAt: number | undefined;
  /** Rule C25. */
  readonly clockInDoubt: boolean;
  /** By start. */
  readonly histograms: readonly SliceHistogram[];
  /** Oldest first. */
  readonly tunings: readonly Tuning[];
  readonly margins: TimeMargins;
}

export interface ProposedTuning {
  readonly kind: "propose";
  readonly direction: "WIDEN" | "NARROW";
  readonly to: TimePartition;
  readonly evidence: readonly SliceHistogram[];
  /** Slices between and after those of the evidence, which do not count. */
  readonly leftOut: readonly string[];
  readonly before: TunedSizes;
  readonly after: TunedSizes;
  /** AUTO applies it; else an operator decides, because it keeps events much longer. */
  readonly automatic: boolean;
}

export type TuningDecision =
  | ProposedTuning
  /** AUTO may apply a proposal that waits: a process died, or the mode was PROPOSE. */
  | { readonly kind: "apply"; readonly id: string }
  | { readonly kind: "none"; readonly why: NoTuning };

const EVIDENCE_SLICES = 2;
/** The evidence is among so many of the newest sealed slices: older ones say too little of today. */
const RECENT_SLICES = 6;
/** Fewer (id, time bucket)s say nothing of the next slice. */
const TIME_BUCKETS_MIN = 50;
/** A walk that could not read more of the partitions than this share says too little. */
const UNREAD_SHARE_MAX = 0.05;
/** Slices under a new partitioning before it may change again: wide partitions hurt at once. */
const COOL_DOWN_SLICES = { NARROW: 2, WIDEN: 4 };
/** AUTO never makes a slice longer than this part of deleteAfter: events would stay too long. */
const SLICE_SHARE_MAX = 10;
const PROPOSED_SLICE_SHARE_MAX = 2;

export function decideTuning(facts: TuningFacts): TuningDecision {
  const { config, tunings, margins } = facts;
  const { timePartition, tuning } = config;
  if (tuning.mode === "OFF") return none("OFF");
  if (facts.clockInDoubt) return none("CLOCK_IN_DOUBT");
  if (tunings.some(({ state }) => state === "APPLIED")) return none("EFFECT_NOT_MEASURED");
  const usable = usableHistograms(facts, timePartition);
  const recent = recentSlices(facts);
  const evidence = recent
    .filter((each) => usable.includes(each) && hasManyBuckets(each))
    .slice(-EVIDENCE_SLICES);
  const first = evidence[0];
  if (first === undefined || evidence.length < EVIDENCE_SLICES) return none("TOO_LITTLE_EVIDENCE");
  if ((facts.lastReadAt ?? -Infinity) + READ_ACTIVITY_MICROS < first.start) return none("NOT_READ");

  const predictions = evidence.map((histogram) => new SizePrediction(histogram));
  const verdicts = new Set(predictions.map((slice) => judgeSizes(slice.present(), tuning)));
  if (verdicts.size > 1) return none("SLICES_DISAGREE");
  if (verdicts.has("FITS")) return none("FITS");
  const direction = verdicts.has("TOO_WIDE") ? "NARROW" : "WIDEN";
  if (isContradicted(facts, evidence, verdicts)) return none("NEWER_SLICES_DISAGREE");
  if (isCoolingDown(usable, tunings, direction)) return none("COOLING_DOWN");

  const deleteAfter = config.retention.deleteAfterMicros / SECOND_MICROS;
  const choose = (share: number): TimePartition | undefined =>
    choosePartitioning({
      direction,
      evidence: predictions,
      config,
      margins,
      sliceMax: deleteAfter / share,
    });
  // A change that is safe to make by itself comes first; a longer slice is offered where only that
  // reaches the target.
  const automatic = choose(SLICE_SHARE_MAX);
  const to = automatic ?? choose(PROPOSED_SLICE_SHARE_MAX);
  const newest = predictions.at(-1);
  if (to === undefined || newest === undefined) return none("NOTHING_BETTER");
  const before = newest.present();
  const same = tunings.filter(
    (each) => isDeepStrictEqual(each.from, timePartition) && !differ(each.dryRun.before, before),
  );
  // Whatever it proposed: a width beside the one that was taken back is no new idea.
  const isDone = ({ state }: Tuning): boolean => state === "REFUSED" || state === "TAKEN_BACK";
  if (same.some((each) => isDone(each) && each.direction === direction)) {
    return none("DECIDED_BEFORE");
  }
  const waiting = same.find((each) => each.state === "PROPOSED" && isDeepStrictEqual(each.to, to));
  if (waiting !== undefined) {
    return tuning.mode === "AUTO" && automatic !== undefined
      ? { kind: "apply", id: waiting.id }
      : none("DECIDED_BEFORE");
  }
  return {
    kind: "propose",
    direction,
    to,
    evidence,
    leftOut: recent
      .filter((each) => each.start > first.start && !evidence.includes(each))
      .map(({ timeSlice }) => timeSlice),
    before,
    after: newest.under(to),
    automatic: automatic !== undefined,
  };
}

/**
 * Complete walks of sealed slices with this partitioning, by start, that hold enough to say what
 * the next slices will be like.
 */
export function usableHistograms(
  { config, histograms, createdAt, isReopened }: TuningFacts,
  timePartition: TimePartition,
): SliceHistogram[] {
  return histograms.filter(
    (each) =>
      isFinal(each) &&
      each.start >= createdAt &&
      !isReopened(each) &&
      each.filledLater !== true &&
      holdsEnough(each, config) &&
      isDeepStrictEqual(each.timePartition, timePartition),
  );
}

/** The newest sealed ones that have the present partitioning without another in between, by start. */
export function recentSlices({
  config,
  histograms,
}: Pick<TuningFacts, "config" | "histograms">): SliceHistogram[] {
  const final = histograms.filter(isFinal);
  const other = final.findLastIndex(
    ({ timePartition }) => !isDeepStrictEqual(timePartition, config.timePartition),
  );
  return final.slice(other + 1).slice(-RECENT_SLICES);
}

function isFinal({ sealed, complete }: SliceHistogram): boolean {
  return sealed && complete;
}

/** Less says nothing about what partitions are like. */
export function holdsEnough(
  { timeBuckets: { bytes }, partitions, omissions }: SliceHistogram,
  { tuning }: NamespaceConfig,
): boolean {
  return (
    bytes.total >= tuning.densityMaxBytes &&
    omissions.failed <= partitions.bytes.count * UNREAD_SHARE_MAX
  );
}

/**
 * Whether most slices that have ended since the evidence, and still take late events, say something
 * else. Under an accept limit of many slices the evidence is old: what filled it may have been a
 * backfill. Most of them have had half of the accept limit, so that late events are in them.
 */
function isContradicted(
  { config, histograms }: TuningFacts,
  evidence: readonly SliceHistogram[],
  verdicts: ReadonlySet<SizeVerdict>,
): boolean {
  const newest = evidence.at(-1)?.start ?? Infinity;
  const ended = histograms.filter(
    (each) =>
      !each.sealed &&
      each.complete &&
      each.start > newest &&
      each.asOf >= each.end &&
      each.filledLater !== true &&
      isDeepStrictEqual(each.timePartition, config.timePartition) &&
      holdsEnough(each, config) &&
      hasManyBuckets(each),
  );
  const others = ended.filter(
    (each) => !verdicts.has(judgeSizes(new SizePrediction(each).present(), config.tuning)),
  );
  return others.length * 2 > ended.length;
}

/** For a change. Its effect is shown by fewer: wide buckets of few ids are few. */
function hasManyBuckets({ timeBuckets }: SliceHistogram): boolean {
  return timeBuckets.bytes.count >= TIME_BUCKETS_MIN;
}

/** `usable` are slices of the present partitioning: as many as it has shown. */
function isCoolingDown(
  usable: readonly SliceHistogram[],
  tunings: readonly Tuning[],
  direction: "WIDEN" | "NARROW",
): boolean {
  const changed = tunings.findLast(({ effectiveFrom }) => effectiveFrom > 0);
  if (changed === undefined) return false;
  const since = usable.filter(({ start }) => start >= changed.effectiveFrom);
  return since.length < COOL_DOWN_SLICES[direction];
}

function none(why: NoTuning): TuningDecision {
  return { kind: "none", why };
}
