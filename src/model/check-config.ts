/**
 * Refuses a configuration that cannot work (rule C4), and reports all its problems at once.
 *
 * Each problem names the field as the API spells it, its value, and what to do.
 */
import type { ProblemCollector } from "../lib/problems.ts";
import { SECOND_MICROS } from "./namespace-config.ts";
import type { NamespaceConfig } from "./namespace-config.ts";
import { EVENT_BUCKETS_MAX } from "./partition.ts";
import { SPLIT_LAYOUTS } from "./layouts.ts";
import { SPLIT_STRATEGIES } from "./strategies/strategies.ts";
import type { TimeMargins } from "./time-margins.ts";

/** Each slice costs a table and files; more than this in one namespace slows every engine. */
export const SLICES_MAX = 10_000;
/** A read of a whole slice visits each of its time buckets. */
const BUCKETS_PER_SLICE_MAX = 100_000;
const SLICE_SECONDS_MAX = 31_536_000;
const YEAR_MICROS = SLICE_SECONDS_MAX * SECOND_MICROS;
const SLO_MS_MAX = 3_600_000;
const WIDE_BYTES_MIN = 65_536;
const BYTES_MAX = 2 ** 40;

const NAMESPACE_NAME = /^[a-z][a-z0-9_]{0,39}$/;

/** The problem of a namespace's name, if it has one. */
export function namespaceNameProblem(name: string): string | undefined {
  if (name === "") return "namespace is missing";
  if (NAMESPACE_NAME.test(name)) return undefined;
  return `namespace: ${JSON.stringify(name.slice(0, 60))} must be 1 to 40 of a-z, 0-9 and _, beginning with a letter`;
}

/**
 * Adds the problems of a configuration. A rule between fields is checked only if each of them is
 * sound: otherwise one wrong value would look like several.
 */
export function checkConfig(
  config: NamespaceConfig,
  margins: TimeMargins,
  problems: ProblemCollector,
): void {
  checkTimePartition(config, problems);
  checkTimeLimits(config, margins, problems);
  checkLatency("slos.read", config.slos.read, problems);
  checkLatency("slos.write", config.slos.write, problems);
  checkOneOf("consistency", config.consistency, ["READ_YOUR_WRITES", "EVENTUAL"], problems);
  checkWidePartition(config, problems);
  checkTuning(config, problems);
}

const SLICE_FIELD = "timePartition.secondsPerTimeSlice";
const BUCKET_FIELD = "timePartition.secondsPerTimeBucket";

function checkTimePartition({ timePartition }: NamespaceConfig, problems: ProblemCollector): void {
  const slice = timePartition.secondsPerTimeSlice;
  const bucket = timePartition.secondsPerTimeBucket;
  const { eventBuckets } = timePartition;
  checkRange(SLICE_FIELD, slice, [1, SLICE_SECONDS_MAX], String, problems);
  checkRange(BUCKET_FIELD, bucket, [1, SLICE_SECONDS_MAX], String, problems);
  checkRange("timePartition.eventBuckets", eventBuckets, [1, EVENT_BUCKETS_MAX], String, problems);
  if (!problems.sound(SLICE_FIELD, BUCKET_FIELD)) return;
  if (bucket > slice) {
    problems.add(
      `${BUCKET_FIELD} (${bucket}) is longer than ${SLICE_FIELD} (${slice}); choose a bucket that divides the slice`,
    );
  } else if (slice % bucket !== 0) {
    problems.add(
      `${BUCKET_FIELD} (${bucket}) does not divide ${SLICE_FIELD} (${slice}); choose one that does`,
    );
  } else if (slice / bucket > BUCKETS_PER_SLICE_MAX) {
    problems.add(
      `${BUCKET_FIELD} (${bucket}) makes ${slice / bucket} buckets of a slice of ${slice} s, ` +
        `the limit is ${BUCKETS_PER_SLICE_MAX}; choose a wider bucket or a shorter slice`,
    );
  }
}

function checkTimeLimits(
  config: NamespaceConfig,
  margins: TimeMargins,
  problems: ProblemCollector,
): void {
  const { acceptLimitMicros: accept, futureLimitMicros: future } = config;
  const { closeAfterMicros: close, deleteAfterMicros: drop } = config.retention;
  const slice = config.timePartition.secondsPerTimeSlice * SECOND_MICROS;
  const margin = margins.clockSkew.micros + margins.settle.micros;
  const century = 100 * YEAR_MICROS;
  const acceptRange = [SECOND_MICROS / 1000, 50 * YEAR_MICROS] as const;
  checkRange("acceptLimit", accept, acceptRange, seconds, problems);
  checkRange("futureLimit", future, [0, YEAR_MICROS], seconds, problems);
  checkRange("retention.closeAfter", close, [SECOND_MICROS, century], seconds, problems);
  checkRange("retention.deleteAfter", drop, [SECOND_MICROS, century], seconds, problems);
  if (problems.sound("acceptLimit", "retention.closeAfter") && accept + margin >= close) {
    problems.add(
      `acceptLimit (${seconds(accept)}) and ${seconds(margin)} for clock skew, writes in flight and the age of views ` +
        `must be less than retention.closeAfter (${seconds(close)}); lower acceptLimit or raise retention.closeAfter`,
    );
  }
  if (problems.sound("retention.closeAfter", "retention.deleteAfter") && close >= drop) {
    problems.add(
      `retention.closeAfter (${seconds(close)}) must be less than retention.deleteAfter (${seconds(drop)}); ` +
        "lower the first or raise the second",
    );
  }
  if (problems.sound("futureLimit", SLICE_FIELD) && future >= slice) {
    problems.add(
      `futureLimit (${seconds(future)}) must be less than a slice (timePartition.secondsPerTimeSlice, ` +
        `${seconds(slice)}); lower futureLimit or choose longer slices`,
    );
  }
  if (!problems.sound(SLICE_FIELD, "retention.deleteAfter", "acceptLimit")) return;
  const slices = Math.ceil((drop + accept) / slice);
  if (slices > SLICES_MAX) {
    problems.add(
      `timePartition.secondsPerTimeSlice (${seconds(slice)}) makes ${slices} slices over ` +
        `retention.deleteAfter (${seconds(drop)}) and acceptLimit (${seconds(accept)}), the limit is ${SLICES_MAX}; ` +
        "choose longer slices or keep events for less long",
    );
  }
}

function checkLatency(
  field: string,
  { targetMs, maxMs }: { readonly targetMs: number; readonly maxMs: number },
  problems: ProblemCollector,
): void {
  checkRange(`${field}.target`, targetMs, [1, SLO_MS_MAX], secondsOfMs, problems);
  checkRange(`${field}.max`, maxMs, [1, SLO_MS_MAX], secondsOfMs, problems);
  if (problems.sound(`${field}.target`, `${field}.max`) && targetMs > maxMs) {
    problems.add(
      `${field}.target (${secondsOfMs(targetMs)}) is above ${field}.max (${secondsOfMs(maxMs)}); ` +
        "lower the target or raise the maximum",
    );
  }
}

function checkWidePartition(
  { widePartition: wide }: NamespaceConfig,
  problems: ProblemCollector,
): void {
  const field = (name: keyof typeof wide): string => `widePartition.${name}`;
  const size = [WIDE_BYTES_MIN, BYTES_MAX] as const;
  checkRange(field("bytesMax"), wide.bytesMax, size, bytes, problems);
  checkRange(field("eventsMax"), wide.eventsMax, [100, 1e12], String, problems);
  checkRange(field("targetBytes"), wide.targetBytes, size, bytes, problems);
  checkRange(field("maxParts"), wide.maxParts, [1, 65_536], String, problems);
  checkOneOf(field("layout"), wide.layout, SPLIT_LAYOUTS, problems);
  checkOneOf(field("strategy"), wide.strategy, ["AUTO", ...SPLIT_STRATEGIES], problems);
  if (problems.sound(field("bytesMax"), field("targetBytes")) && wide.targetBytes > wide.bytesMax) {
    problems.add(
      `widePartition.targetBytes (${bytes(wide.targetBytes)}) is above widePartition.bytesMax (${bytes(wide.bytesMax)}): ` +
        "the parts would be wide themselves; lower the target or raise the maximum",
    );
  }
}

function checkTuning({ tuning }: NamespaceConfig, problems: ProblemCollector): void {
  const { densityMinBytes: min, densityMaxBytes: max } = tuning;
  checkOneOf("tuning.mode", tuning.mode, ["PROPOSE", "OFF", "AUTO"], problems);
  checkRange("tuning.densityMinBytes", min, [1_024, BYTES_MAX], bytes, problems);
  checkRange("tuning.densityMaxBytes", max, [1_024, BYTES_MAX], bytes, problems);
  if (problems.sound("tuning.densityMinBytes", "tuning.densityMaxBytes") && min >= max) {
    problems.add(
      `tuning.densityMinBytes (${bytes(min)}) must be less than tuning.densityMaxBytes (${bytes(max)}); ` +
        "lower the first or raise the second",
    );
  }
}

/** A whole number in the range. (Durations are whole numbers of their unit.) */
function checkRange(
  field: string,
  value: number,
  [min, max]: readonly [number, number],
  format: (value: number) => string,
  problems: ProblemCollector,
): void {
  // Milliseconds may have fractions: a latency can be "0.0005s".
  const whole = Number.isInteger(value) || format === secondsOfMs;
  if (whole && value >= min && value <= max) return;
  problems.add(
    `${field} (${format(value)}) must be from ${format(min)} to ${format(max)}; choose a value in that range`,
    field,
  );
}

function checkOneOf(
  field: string,
  value: string,
  allowed: readonly string[],
  problems: ProblemCollector,
): void {
  if (allowed.includes(value)) return;
  problems.add(
    `${field} (${JSON.stringify(value.slice(0, 40))}) must be ${allowed.join(" or ")}`,
    field,
  );
}

/** As the API writes durations. */
function seconds(micros: number): string {
  return `${micros / SECOND_MICROS}s`;
}

function secondsOfMs(ms: number): string {
  return `${ms / 1000}s`;
}

function bytes(count: number): string {
  return `${count} bytes`;
}
