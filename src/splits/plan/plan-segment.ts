/**
 * Decides whether to split the next range of a wide partition, and with which strategy and parts,
 * and gives the reason.
 *
 * Pure: the worker measures at most what `surveyBytes` returns, this module decides, and the worker
 * carries out the decision. A plan freezes the range before the worker copies anything (rule C7).
 * Every refusal is a whole sentence with its numbers, for the history of the record.
 */
import { formatCount, quantity } from "../../lib/quantity.ts";
import type { RefusalCause } from "../../model/move-cause.ts";
import { sliceExpiry } from "../../model/slice-expiry.ts";
import { SECOND_MICROS } from "../../model/namespace-config.ts";
import type { NamespaceConfig } from "../../model/namespace-config.ts";
import { HARMLESS_MICROS, SURVEY_MICROS_MAX, SURVEY_MICROS_MIN } from "../../model/split-waits.ts";
import { routeOf } from "../../model/split.ts";
import type { ExpectedAmount, Segment, SplitRecord } from "../../model/split.ts";
import type { Strategy } from "../../model/strategies/strategy.ts";
import type { TimeSlice } from "../../model/time-slice.ts";
import type { Fragments } from "../../ports/fragments.ts";
import { chooseStrategy, onePassInstead } from "./choose-strategy.ts";
import type { ChosenStrategy } from "./choose-strategy.ts";

/** The result of a bounded read of the range. */
export interface Survey {
  readonly bytes: number;
  readonly events: number;
  /**
   * Whether the survey read the range to its end. If so, bytes and events are exact; else they are
   * a lower bound.
   */
  readonly whole: boolean;
  /** How long the read took. */
  readonly millis: number;
  readonly largestEventBytes: number;
  /** How scattered the slice lies in the storage; undefined if the storage cannot tell. */
  readonly fragments: Fragments | undefined;
}

export interface PlanInput {
  readonly config: NamespaceConfig;
  readonly slice: TimeSlice;
  readonly record: SplitRecord;
  readonly bucket: { readonly start: number; readonly end: number };
  /** The end of the existing segments. */
  readonly from: number;
  /** The settled floor or the end of the bucket, whichever is lower. */
  readonly to: number;
  /** The namespace's epoch, of which the settled floor is. */
  readonly epoch: number;
  /** Whether the whole bucket is sealed. */
  readonly closed: boolean;
  readonly blocked: boolean;
  readonly nowMicros: number;
  readonly survey: Survey;
  /** Whether an operator requested the split. */
  readonly byOperator: boolean;
}

export type SplitPlan =
  | { readonly kind: "segment"; readonly segment: Segment }
  | ({ readonly kind: "refused" } & Refusal)
  | {
      readonly kind: "parked";
      /** Too little is sealed, or reads of it meet their target. */
      readonly cause: "waiting" | "harmless";
      readonly reason: string;
      /** A point in time, like `nowMicros`. */
      readonly recheckMicros: number;
    };

interface Refusal {
  readonly cause: RefusalCause;
  /** A whole sentence with its numbers. */
  readonly reason: string;
}

/** A closed partition in at least this many files is slow because it is scattered. */
const FILES_MANY = 8;
/**
 * Event time older than the accept limit is sealed within this time: the floor rises in steps and
 * then settles.
 */
const SEALING_MICROS = 30 * SECOND_MICROS;

/** What a survey must read before a decision is possible. */
export interface SurveyLimits {
  /** It ends behind these many bytes; 0: it reads nothing. */
  readonly bytes: number;
  /** Until this much time has passed, it continues behind them. */
  readonly millis: number;
}

export function surveyLimits(
  config: NamespaceConfig,
  record: SplitRecord,
  closed: boolean,
): SurveyLimits {
  const millis = mayBeLeft(config, record) ? config.slos.read.targetMs : 0;
  return { bytes: surveyBytes(config, record, closed), millis };
}

/** Whether a split is made only if reads miss their target. */
function mayBeLeft({ widePartition }: NamespaceConfig, record: SplitRecord): boolean {
  return widePartition.whenHarmless === "LEAVE" && record.askedBy === null && !isBegun(record);
}

function surveyBytes(config: NamespaceConfig, record: SplitRecord, closed: boolean): number {
  const { bytesMax, eventsMax, targetBytes } = config.widePartition;
  if (!chooseStrategy(config).strategy.onePass) return Number.MAX_SAFE_INTEGER;
  if (!closed) return targetBytes;
  // If the route already covers some of the bucket, the rest is split at any size.
  if (isBegun(record)) return 0;
  // A detection is a lower bound, and servers accept no more writes to a closed bucket: the
  // detected events are still there.
  if (record.bytes > bytesMax) return 0;
  if (record.events > eventsMax) return record.bytes > targetBytes ? 0 : targetBytes + 1;
  return bytesMax + 1;
}

export function planSegment(input: PlanInput): SplitPlan {
  const why = whyNever(input) ?? whyNotNow(input);
  if (why !== undefined) return { kind: "refused", ...why };
  if (!input.closed && input.survey.bytes < input.config.widePartition.targetBytes) {
    return parkedUntilMoreIsSealed(input);
  }
  const unworthy = input.closed ? whyNotWorthIt(input) : undefined;
  if (unworthy !== undefined) return { kind: "refused", ...unworthy };
  const harmless = whyHarmless(input);
  if (harmless !== undefined) {
    const recheckMicros = input.nowMicros + HARMLESS_MICROS;
    return { kind: "parked", cause: "harmless", reason: harmless, recheckMicros };
  }
  return { kind: "segment", segment: segmentOf(input) };
}

/** Reasons that no measurement can change. */
function whyNever({ slice, blocked, config, byOperator, record }: PlanInput): Refusal | undefined {
  if (slice.state !== "OPEN") {
    return refusal(
      "closed-slice",
      `slice gone: ${slice.name} is ${slice.state.toLowerCase()} and no longer read`,
    );
  }
  if (blocked) {
    return refusal(
      "blocked",
      `blocked: ${JSON.stringify(record.partition.seriesId)} cannot be read while it is blocked; unblock it, then retry`,
    );
  }
  if (!config.widePartition.detect && !byOperator) {
    return refusal(
      "detect-off",
      "detect off: widePartition.detect is off, so nothing is split unless an operator requests it",
    );
  }
  return undefined;
}

function whyNotNow({ slice, config, nowMicros, from, to, closed }: PlanInput): Refusal | undefined {
  const { soon, leftMicros, soonMicros } = sliceExpiry(slice, config.retention, nowMicros);
  if (soon) {
    return refusal(
      "expiring",
      `expiring: ${slice.name} closes in ${seconds(leftMicros)}; a split needs at least ${seconds(soonMicros)}`,
    );
  }
  if (closed && from >= to) {
    return refusal("empty", "empty: all of the bucket is split already");
  }
  return undefined;
}

function parkedUntilMoreIsSealed(input: PlanInput): SplitPlan {
  const { from, to, bucket, survey, nowMicros, record } = input;
  const { acceptLimitMicros, widePartition } = input.config;
  const { targetBytes } = widePartition;
  const sealedMicros = Math.max(0, to - from);
  // Assumes that the rate so far continues, but waits no longer than until the whole bucket is
  // sealed.
  const missing = targetBytes - survey.bytes;
  const growing = survey.bytes > 0 ? (missing / survey.bytes) * sealedMicros : Infinity;
  const untilClosed = Math.max(0, bucket.end - Math.max(from, to));
  // Events that a detection has already counted need only become old enough.
  const old = record.detectedAt + acceptLimitMicros - nowMicros;
  const seen = record.bytes >= targetBytes ? Math.max(0, old) + SEALING_MICROS : Infinity;
  const wait = Math.min(growing, untilClosed, seen, SURVEY_MICROS_MAX);
  return {
    kind: "parked",
    cause: "waiting",
    reason:
      `not enough sealed yet: ${amount(survey)} in ${seconds(sealedMicros)} of sealed time; ` +
      `a part is cut at ${quantity(targetBytes, "byte")}, or when the bucket is closed`,
    recheckMicros: nowMicros + Math.ceil(Math.max(wait, SURVEY_MICROS_MIN)),
  };
}

/** Reasons against the split of a closed bucket that only a read of the whole range can give. */
function whyNotWorthIt(input: PlanInput): Refusal | undefined {
  const { survey, record, byOperator } = input;
  const { bytesMax, eventsMax, targetBytes } = input.config.widePartition;
  if (!survey.whole || isBegun(record)) return undefined;
  if (survey.events === 0) return refusal("empty", "empty: the partition has no events");
  if (record.forced !== true && survey.bytes <= bytesMax && survey.events <= eventsMax) {
    return refusal(
      "too-small",
      `too small: ${amount(survey)}; the limit is ${quantity(bytesMax, "byte")} or ${quantity(eventsMax, "event")}` +
        (byOperator ? "; a request with force (--force) splits it all the same" : ""),
    );
  }
  if (byOperator || survey.bytes > targetBytes) return undefined;
  const { targetMs } = input.config.slos.read;
  const slowestMs = Math.max(survey.millis, record.latency.before.maxMs);
  if (slowestMs <= targetMs) {
    return refusal(
      "no-impact",
      `no impact: ${amount(survey)} would be one part of at most ${quantity(targetBytes, "byte")}, ` +
        `and it is read in ${formatCount(slowestMs)} ms, within the target of ${formatCount(targetMs)} ms`,
    );
  }
  const { fragments } = survey;
  if (fragments === undefined || fragments.files < FILES_MANY) return undefined;
  return refusal(
    "fragmented",
    `only fragmented: ${amount(survey)} would be one part, but lies in ${filesText(fragments)}; ` +
      `compaction of the slice is enough (${fragments.compactCommand}); a requested split is made nevertheless`,
  );
}

/** Nobody suffers: a read of the whole range and every page were within the target. */
function whyHarmless({ config, record, survey }: PlanInput): string | undefined {
  const { before } = record.latency;
  const { targetMs } = config.slos.read;
  if (!mayBeLeft(config, record) || !survey.whole || before.reads === 0) return undefined;
  if (survey.millis > targetMs || before.maxMs > targetMs) return undefined;
  return (
    `harmless: ${amount(survey)} are read in ${formatCount(survey.millis)} ms and pages in at most ` +
    `${formatCount(before.maxMs)} ms, within the target of ${formatCount(targetMs)} ms; ` +
    "widePartition.whenHarmless is LEAVE"
  );
}

function refusal(cause: RefusalCause, reason: string): Refusal {
  return { cause, reason };
}

function segmentOf(input: PlanInput): Segment {
  const { record, config, from, to, epoch, survey } = input;
  const { targetBytes, maxParts, layout } = config.widePartition;
  const chosen = strategyFor(config, survey);
  const { bytes: expectedBytes } = expectedOf(input);
  const partsMax = partsMaxOf(chosen.strategy, record, maxParts);
  const partBytes = Math.max(targetBytes, Math.ceil(expectedBytes / partsMax));
  const partsPlanned = Math.max(1, Math.ceil(expectedBytes / partBytes));
  const scattered = expectedBytes > targetBytes ? whyScattered(input) : "";
  return {
    from,
    to,
    epoch,
    state: "PLANNED",
    generation: record.nextGeneration,
    layout,
    strategy: chosen.name,
    why: `${whyAtAll(input)}; ${chosen.why}${whyLarger(partBytes, partsMax, chosen.strategy, config)}${scattered}`,
    partBytes,
    partsPlanned: chosen.strategy.onePass ? 0 : partsPlanned,
    expected: expectedOf(input),
    partRanges: [],
    copiedTo: to,
    bytes: 0,
    events: 0,
    checksum: "",
    confirmedAt: null,
  };
}

function expectedOf({ survey, record }: PlanInput): ExpectedAmount {
  const { bytes, events, whole } = survey;
  if (whole) return { bytes, events, exact: true };
  return {
    bytes: Math.max(bytes, record.bytes),
    events: Math.max(events, record.events),
    exact: false,
  };
}

function strategyFor(config: NamespaceConfig, survey: Survey): ChosenStrategy {
  const chosen = chooseStrategy(config);
  if (chosen.strategy.onePass || survey.whole) return chosen;
  return onePassInstead(chosen, amount(survey));
}

/**
 * The most parts this segment may have: what the existing segments leave of the maximum, at least
 * one.
 */
function partsMaxOf({ partsMax }: Strategy, record: SplitRecord, maxParts: number): number {
  let used = 0;
  for (const { partRanges } of routeOf(record).segments)
    for (const { count } of partRanges) used += count;
  const left = Math.max(1, maxParts - used);
  return partsMax === undefined ? left : Math.min(left, partsMax);
}

function whyAtAll({ survey, record, closed, byOperator }: PlanInput): string {
  const who = byOperator ? "an operator asked for it" : "reads found it wide";
  const routeRange = closed ? "the bucket is closed" : "the sealed part of an open bucket";
  const seen = survey.whole || survey.bytes > record.bytes ? survey : record;
  const least = survey.whole ? "" : "at least ";
  return `${who}: ${least}${amount(seen)}, ${routeRange}`;
}

function whyLarger(
  partBytes: number,
  partsMax: number,
  strategy: Strategy,
  { widePartition: { targetBytes, maxParts } }: NamespaceConfig,
): string {
  if (partBytes <= targetBytes) return "";
  const most =
    strategy.partsMax === undefined ? "" : `, and of ${strategy.name} at most ${strategy.partsMax}`;
  const bound =
    partsMax === maxParts
      ? `maxParts is ${formatCount(maxParts)}`
      : `${quantity(partsMax, "part")} ${partsMax === 1 ? "is" : "are"} left (maxParts is ${formatCount(maxParts)}${most})`;
  return `; parts grow from ${formatCount(targetBytes)} to ${quantity(partBytes, "byte")}, because ${bound}`;
}

/**
 * For a range larger than one part, scattered storage is no reason against the split, but it can be
 * a second cause of slow reads.
 */
function whyScattered({ survey: { fragments } }: PlanInput): string {
  if (fragments === undefined) return "";
  const files = `; it lies in ${filesText(fragments)}`;
  if (fragments.files < FILES_MANY) return files;
  return `${files}: compacting the slice (${fragments.compactCommand}) would help pages as well, but not whole ranges`;
}

function filesText({ files, fileWord }: Fragments): string {
  return quantity(files, fileWord);
}

/** Whether the route already covers some of the bucket. */
function isBegun(record: SplitRecord): boolean {
  return routeOf(record).segments.length > 0;
}

function amount({ bytes, events }: { readonly bytes: number; readonly events: number }): string {
  return `${quantity(bytes, "byte")} in ${quantity(events, "event")}`;
}

function seconds(micros: number): string {
  return `${formatCount(Math.max(0, Math.round(micros / SECOND_MICROS)))} s`;
}
