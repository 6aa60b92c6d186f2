/**
 * Refuses a configuration that cannot work (rule C4), and reports all its problems at once.
 *
 * Each problem names the field as the API spells it, its value, and what to do.
 */
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
  if (NAMESPACE_NAME.test(name)) return undefined;
  return `namespace: ${JSON.stringify(name.slice(0, 60))} must be 1 to 40 of a-z, 0-9 and _, beginning with a letter
`;
}

export function configProblems(config: NamespaceConfig, margins: TimeMargins): string[] {
  return [
    ...timePartitionProblems(config),
    ...timeLimitProblems(config, margins),
    ...latencyProblems("slos.read", config.slos.read),
    ...latencyProblems("slos.write", config.slos.write),
    ...oneOf("consistency", config.consistency, ["READ_YOUR_WRITES", "EVENTUAL"]),
    ...widePartitionProblems(config),
    ...tuningProblems(config),
  ];
}

function timePartitionProblems({ timePartition }: NamespaceConfig): string[] {
  const slice = timePartition.secondsPerTimeSlice;
  const bucket = timePartition.secondsPerTimeBucket;
  const sliceField = "timePartition.secondsPerTimeSlice";
  const bucketField = "timePartition.secondsPerTimeBucket";
  const found = [
    ...within(sliceField, slice, 1, SLICE_SECONDS_MAX, String),
    ...within(bucketField, bucket, 1, SLICE_SECONDS_MAX, String),
    ...within(
      "timePartition.eventBuckets",
      timePartition.eventBuckets,
      1,
      EVENT_BUCKETS_MAX,
      String,
    ),
  ];
  if (found.length > 0) return found;
  if (bucket > slice) {
    found.push(
      `${bucketField} (${bucket}) is longer than ${sliceField} (${slice}); choose a bucket that divides the slice`,
    );
  } else if (slice % bucket !== 0) {
    found.push(
      `${bucketField} (${bucket}) does not divide ${sliceField} (${slice}); choose one that does`,
    );
  } else if (slice / bucket > BUCKETS_PER_SLICE_MAX) {
    found.push(
      `${bucketField} (${bucket}) makes ${slice / bucket} buckets of a slice of ${slice} s, ` +
        `the limit is ${BUCKETS_PER_SLICE_MAX}; choose a wider bucket or a shorter slice`,
    );
  }
  return found;
}

function timeLimitProblems(config: NamespaceConfig, margins: TimeMargins): string[] {
  const { acceptLimitMicros: accept, futureLimitMicros: future } = config;
  const { closeAfterMicros: close, deleteAfterMicros: drop } = config.retention;
  const slice = config.timePartition.secondsPerTimeSlice * SECOND_MICROS;
  const margin = margins.clockSkew.micros + margins.settle.micros;
  const found = [
    ...within("acceptLimit", accept, SECOND_MICROS / 1000, 50 * YEAR_MICROS, seconds),
    ...within("futureLimit", future, 0, YEAR_MICROS, seconds),
    ...within("retention.closeAfter", close, SECOND_MICROS, 100 * YEAR_MICROS, seconds),
    ...within("retention.deleteAfter", drop, SECOND_MICROS, 100 * YEAR_MICROS, seconds),
  ];
  // Without a valid slice there is nothing to compare with; that is a problem of its own.
  if (found.length > 0 || !(slice >= SECOND_MICROS)) return found;
  if (accept + margin >= close) {
    found.push(
      `acceptLimit (${seconds(accept)}) and ${seconds(margin)} for clock skew, writes in flight and the age of views ` +
        `must be less than retention.closeAfter (${seconds(close)}); lower acceptLimit or raise retention.closeAfter`,
    );
  }
  if (close >= drop) {
    found.push(
      `retention.closeAfter (${seconds(close)}) must be less than retention.deleteAfter (${seconds(drop)}); ` +
        "lower the first or raise the second",
    );
  }
  if (future >= slice) {
    found.push(
      `futureLimit (${seconds(future)}) must be less than a slice (timePartition.secondsPerTimeSlice, ` +
        `${seconds(slice)}); lower futureLimit or choose longer slices`,
    );
  }
  const slices = Math.ceil((drop + accept) / slice);
  if (slices > SLICES_MAX) {
    found.push(
      `timePartition.secondsPerTimeSlice (${seconds(slice)}) makes ${slices} slices over ` +
        `retention.deleteAfter (${seconds(drop)}) and acceptLimit (${seconds(accept)}), the limit is ${SLICES_MAX}; ` +
        "choose longer slices or keep events for less long",
    );
  }
  return found;
}

function latencyProblems(
  field: string,
  { targetMs, maxMs }: { readonly targetMs: number; readonly maxMs: number },
): string[] {
  const found = [
    ...within(`${field}.target`, targetMs, 1, SLO_MS_MAX, secondsOfMs),
    ...within(`${field}.max`, maxMs, 1, SLO_MS_MAX, secondsOfMs),
  ];
  if (found.length === 0 && targetMs > maxMs) {
    found.push(
      `${field}.target (${secondsOfMs(targetMs)}) is above ${field}.max (${secondsOfMs(maxMs)}); ` +
        "lower the target or raise the maximum",
    );
  }
  return found;
}

function widePartitionProblems({ widePartition: wide }: NamespaceConfig): string[] {
  const found = [
    ...within("widePartition.bytesMax", wide.bytesMax, WIDE_BYTES_MIN, BYTES_MAX, bytes),
    ...within("widePartition.eventsMax", wide.eventsMax, 100, 1e12, String),
    ...within("widePartition.targetBytes", wide.targetBytes, WIDE_BYTES_MIN, BYTES_MAX, bytes),
    ...within("widePartition.maxParts", wide.maxParts, 1, 65_536, String),
    ...oneOf("widePartition.layout", wide.layout, SPLIT_LAYOUTS),
    ...oneOf("widePartition.strategy", wide.strategy, ["AUTO", ...SPLIT_STRATEGIES]),
  ];
  if (wide.targetBytes > wide.bytesMax) {
    found.push(
      `widePartition.targetBytes (${bytes(wide.targetBytes)}) is above widePartition.bytesMax (${bytes(wide.bytesMax)}): ` +
        "the parts would be wide themselves; lower the target or raise the maximum",
    );
  }
  return found;
}

function tuningProblems({ tuning }: NamespaceConfig): string[] {
  const { densityMinBytes: min, densityMaxBytes: max } = tuning;
  const found = [
    ...oneOf("tuning.mode", tuning.mode, ["PROPOSE", "OFF", "AUTO"]),
    ...within("tuning.densityMinBytes", min, 1_024, BYTES_MAX, bytes),
    ...within("tuning.densityMaxBytes", max, 1_024, BYTES_MAX, bytes),
  ];
  if (min >= max) {
    found.push(
      `tuning.densityMinBytes (${bytes(min)}) must be less than tuning.densityMaxBytes (${bytes(max)}); ` +
        "lower the first or raise the second",
    );
  }
  return found;
}

/** A whole number from `min` to `max`. (Durations are whole numbers of their unit.) */
function within(
  field: string,
  value: number,
  min: number,
  max: number,
  format: (value: number) => string,
): string[] {
  if (Number.isInteger(value) && value >= min && value <= max) return [];
  // Milliseconds may have fractions: a latency can be "0.0005s".
  if (format === secondsOfMs && value >= min && value <= max) return [];
  return [
    `${field} (${format(value)}) must be from ${format(min)} to ${format(max)}; choose a value in that range`,
  ];
}

function oneOf(field: string, value: string, allowed: readonly string[]): string[] {
  if (allowed.includes(value)) return [];
  return [`${field} (${JSON.stringify(value.slice(0, 40))}) must be ${allowed.join(" or ")}`];
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
