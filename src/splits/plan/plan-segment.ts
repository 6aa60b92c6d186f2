/**
 * Decides whether the next range of a wide partition is split, how and into what, and says why.
 *
 * Pure: the worker measures (at most what `surveyBytes` asks for), this decides, the worker carries
 * it out. A plan freezes the range before anything is copied (rule C7). Every refusal is a whole
 * sentence with its numbers, for the record's history.
 */
import type { RefusalCause } from "../../model/move-cause.ts";
import { sliceExpiry } from "../../model/slice-expiry.ts";
import type { NamespaceConfig } from "../../model/namespace-config.ts";
import { routeOf } from "../../model/split.ts";
import type { Segment, SplitRecord } from "../../model/split.ts";
import type { Strategy } from "../../model/strategies/strategy.ts";
import type { TimeSlice } from "../../model/time-slice.ts";
import type { Fragments } from "../../ports/fragments.ts";
import { chooseStrategy, onePassInstead } from "./choose-strategy.ts";
import type { ChosenStrategy } from "./choose-strategy.ts";

/** What a bounded read of the range has found. */
export interface Survey {
  readonly bytes: number;
  readonly events: number;
  /**
   * Whether it read the range to its end: then bytes and events are exact, else they are a lower
   * bound.
   */
  readonly whole: boolean;
  /** How long the read took. */
  readonly millis: number;
  readonly largestEventBytes: number;
  /** How scattered the storage keeps the slice, where it can tell. */
  readonly fragments: Fragments | undefined;
}

export interface PlanInput {
  readonly config: NamespaceConfig;
  readonly slice: TimeSlice;
  readonly record: SplitRecord;
  readonly bucket: { readonly start: number; readonly end: number };
  /** Where the segments that are there end. */
  readonly from: number;
  /** The sealed line, or the end of the bucket. */
  readonly to: number;
  /** Whether the whole bucket is sealed. */
  readonly closed: boolean;
  readonly blocked: boolean;
  readonly nowMicros: number;
  readonly survey: Survey;
  /** Whether an operator asked for it. */
  readonly byOperator: boolean;
}

export type SplitPlan =
  | { readonly kind: "segment"; readonly segment: Segment }
  | ({ readonly kind: "refused" } & Refusal)
  | {
      readonly kind: "parked";
      readonly cause: "waiting";
      readonly reason: string;
      /** A time, as `nowMicros` is. */
      readonly recheckMicros: number;
    };

interface Refusal {
  readonly cause: RefusalCause;
  /** A whole sentence with its numbers. */
  readonly reason: string;
}

const SECOND_MICROS = 1_000_000;
/** A closed partition in this many files or more is slow for being scattered. */
const FILES_MANY = 8;
/** How soon and how late a range that is still growing is checked again. */
const LOOK_AGAIN_MICROS_MIN = 10 * SECOND_MICROS;
const LOOK_AGAIN_MICROS_MAX = 600 * SECOND_MICROS;
/**
 * What is old enough to be sealed is so within this long: the line is raised in steps, and then
 * settles.
 */
const SEALING_MICROS = 30 * SECOND_MICROS;

/** The bytes a survey has to read at most before it can be decided; 0: none. */
export function surveyBytes(config: NamespaceConfig, record: SplitRecord, closed: boolean): number {
  const { bytesMax, eventsMax, targetBytes } = config.widePartition;
  if (!chooseStrategy(config).strategy.onePass) return Number.MAX_SAFE_INTEGER;
  if (!closed) return targetBytes;
  // The rest of a bucket that is split already goes with it, whatever its size.
  if (isBegun(record)) return 0;
  // A detection is a lower bound, and a closed bucket is no longer written to: what was seen is
  // there.
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
  return { kind: "segment", segment: segmentOf(input) };
}

/** Reasons that no measure can change. */
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
      `blocked: nobody may read ${JSON.stringify(record.partition.seriesId)} while it is blocked; unblock it, then retry`,
    );
  }
  if (!config.widePartition.detect && !byOperator) {
    return refusal(
      "detect-off",
      "detect off: widePartition.detect is off, so nothing is split unless an operator asks for it",
    );
  }
  return undefined;
}

function whyNotNow({ slice, config, nowMicros, from, to, closed }: PlanInput): Refusal | undefined {
  const { soon, leftMicros, soonMicros } = sliceExpiry(slice, config.retention, nowMicros);
  if (soon) {
    return refusal(
      "expiring",
      `expiring: ${slice.name} is closed in ${seconds(leftMicros)}, the least worth the work is ${seconds(soonMicros)}`,
    );
  }
  if (closed && from >= to) {
    return refusal("empty", "empty: all of the bucket is split already, nothing is left");
  }
  return undefined;
}

function parkedUntilMoreIsSealed(input: PlanInput): SplitPlan {
  const { from, to, bucket, survey, nowMicros, record } = input;
  const { acceptLimitMicros, widePartition } = input.config;
  const { targetBytes } = widePartition;
  const sealedMicros = Math.max(0, to - from);
  // As much again as has come so far in as much time, but never past the moment all of it is
  // sealed.
  const missing = targetBytes - survey.bytes;
  const growing = survey.bytes > 0 ? (missing / survey.bytes) * sealedMicros : Infinity;
  const untilClosed = Math.max(0, bucket.end - Math.max(from, to));
  // What a read has seen already need only grow old.
  const old = record.detectedAt + acceptLimitMicros - nowMicros;
  const seen = record.bytes >= targetBytes ? Math.max(0, old) + SEALING_MICROS : Infinity;
  const wait = Math.min(growing, untilClosed, seen, LOOK_AGAIN_MICROS_MAX);
  return {
    kind: "parked",
    cause: "waiting",
    reason:
      `not enough sealed yet: ${amount(survey)} in ${seconds(sealedMicros)} of sealed time; ` +
      `a part is cut at ${number(targetBytes)} bytes, or when the bucket is closed`,
    recheckMicros: nowMicros + Math.ceil(Math.max(wait, LOOK_AGAIN_MICROS_MIN)),
  };
}

/** Of a closed bucket. Reasons that only a read of the whole range can give. */
function whyNotWorthIt(input: PlanInput): Refusal | undefined {
  const { survey, record, byOperator } = input;
  const { bytesMax, eventsMax, targetBytes } = input.config.widePartition;
  if (!survey.whole || isBegun(record)) return undefined;
  if (survey.events === 0) return refusal("empty", "empty: the partition has no events");
  if (record.forced !== true && survey.bytes <= bytesMax && survey.events <= eventsMax) {
    return refusal(
      "too-small",
      `too small: ${amount(survey)}; the limit is ${number(bytesMax)} bytes or ${number(eventsMax)} events`,
    );
  }
  if (byOperator || survey.bytes > targetBytes) return undefined;
  const { targetMs } = input.config.slos.read;
  const slowestMs = Math.max(survey.millis, record.latency.before.maxMs);
  if (slowestMs <= targetMs) {
    return refusal(
      "no-impact",
      `no impact: ${amount(survey)} would be one part of at most ${number(targetBytes)} bytes, ` +
        `and it is read in ${number(slowestMs)} ms, within the target of ${number(targetMs)} ms`,
    );
  }
  const { fragments } = survey;
  if (fragments === undefined || fragments.files < FILES_MANY) return undefined;
  return refusal(
    "fragmented",
    `only fragmented: ${amount(survey)} would be one part, but lies in ${filesText(fragments)}; ` +
      `compacting the slice cures it (${fragments.compactCommand}), a requested split is made all the same`,
  );
}

function refusal(cause: RefusalCause, reason: string): Refusal {
  return { cause, reason };
}

function segmentOf(input: PlanInput): Segment {
  const { record, config, from, to, survey } = input;
  const { targetBytes, maxParts, layout } = config.widePartition;
  const chosen = strategyFor(config, survey);
  const expectedBytes = survey.whole ? survey.bytes : Math.max(survey.bytes, record.bytes);
  const partsMax = partsMaxOf(chosen.strategy, record, maxParts);
  const partBytes = Math.max(targetBytes, Math.ceil(expectedBytes / partsMax));
  const partsPlanned = Math.max(1, Math.ceil(expectedBytes / partBytes));
  const scattered = expectedBytes > targetBytes ? whyScattered(input) : "";
  return {
    from,
    to,
    state: "PLANNED",
    generation: record.nextGeneration,
    layout,
    strategy: chosen.name,
    why: `${whyAtAll(input)}; ${chosen.why}${whyLarger(partBytes, partsMax, chosen.strategy, config)}${scattered}`,
    partBytes,
    partsPlanned: chosen.strategy.onePass ? 0 : partsPlanned,
    partRanges: [],
    copiedTo: to,
    bytes: 0,
    events: 0,
    checksum: "",
    confirmedAt: null,
  };
}

function strategyFor(config: NamespaceConfig, survey: Survey): ChosenStrategy {
  const chosen = chooseStrategy(config);
  if (chosen.strategy.onePass || survey.whole) return chosen;
  return onePassInstead(chosen, amount(survey));
}

/** Of this segment: what the segments that are there have left, and one at least. */
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
      ? `maxParts is ${number(maxParts)}`
      : `${number(partsMax)} parts are what is left (maxParts is ${number(maxParts)}${most})`;
  return `; parts grow from ${number(targetBytes)} to ${number(partBytes)} bytes, because ${bound}`;
}

/**
 * Of one that is larger than a part: being scattered is no reason against the split, but may be a
 * second trouble.
 */
function whyScattered({ survey: { fragments } }: PlanInput): string {
  if (fragments === undefined) return "";
  const files = `; it lies in ${filesText(fragments)}`;
  if (fragments.files < FILES_MANY) return files;
  return `${files}: compacting the slice (${fragments.compactCommand}) would help pages as well, but not whole ranges`;
}

function filesText({ files, fileWord }: Fragments): string {
  return `${number(files)} ${fileWord}${files === 1 ? "" : "s"}`;
}

/** Whether some of its time is split already. */
function isBegun(record: SplitRecord): boolean {
  return routeOf(record).segments.length > 0;
}

function amount({ bytes, events }: { readonly bytes: number; readonly events: number }): string {
  return `${number(bytes)} bytes in ${number(events)} events`;
}

function seconds(micros: number): string {
  return `${number(Math.max(0, Math.round(micros / SECOND_MICROS)))} s`;
}

function number(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}
