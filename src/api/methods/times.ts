/** Translates times and durations between API messages and the microseconds of the code. */
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import type { Problems } from "../../lib/problems.ts";
import { TIME_MICROS_MAX } from "../../wire/event-record.ts";

/** All times are microseconds. Rounding would silently move an event, so the caller must do it. */
const TOO_FINE = "has nanoseconds, and times have microseconds: truncate it before sending";

export interface SecondsAndNanos {
  seconds: bigint;
  nanos: number;
}

/**
 * The microseconds of a time in a request; undefined if it is not given or wrong. Adds what is
 * wrong to `problems`.
 */
export function microsOfTime(
  time: Timestamp | undefined,
  field: string,
  problems: Problems,
): number | undefined {
  if (time === undefined) return undefined;
  if (time.nanos < 0 || time.nanos > 999_999_999) {
    problems.add(`${field}.nanos is outside 0 to 999999999`, field);
    return undefined;
  }
  if (time.nanos % 1000 !== 0) {
    problems.add(`${field} ${TOO_FINE}`, field);
    return undefined;
  }
  const micros = time.seconds * 1_000_000n + BigInt(time.nanos / 1000);
  if (micros < 0n || micros > BigInt(TIME_MICROS_MAX)) {
    problems.add(`${field} is outside the years 1970 to 2255`, field);
    return undefined;
  }
  return Number(micros);
}

export function timeOfMicros(micros: number): SecondsAndNanos {
  const seconds = Math.floor(micros / 1_000_000);
  return { seconds: BigInt(seconds), nanos: (micros - seconds * 1_000_000) * 1000 };
}

/** The longest useful duration: about 1,000 years. */
const SECONDS_MAX = 31_536_000_000n;

/** The microseconds of a duration in a request, like `microsOfTime`. */
export function microsOfDuration(
  duration: Duration | undefined,
  field: string,
  problems: Problems,
): number | undefined {
  if (duration === undefined) return undefined;
  if (duration.seconds < 0n || duration.nanos < 0) {
    problems.add(`${field} is negative`, field);
    return undefined;
  }
  if (duration.seconds > SECONDS_MAX || duration.nanos > 999_999_999) {
    problems.add(`${field} is too long`, field);
    return undefined;
  }
  if (duration.nanos % 1000 !== 0) {
    problems.add(`${field} ${TOO_FINE}`, field);
    return undefined;
  }
  return Number(duration.seconds) * 1_000_000 + duration.nanos / 1000;
}

export function durationOfMicros(micros: number): SecondsAndNanos {
  return timeOfMicros(micros);
}

/** `0.004s`: the proto3 JSON form, with zero, three or six decimals. */
export function formatDuration(micros: number): string {
  const seconds = Math.floor(micros / 1_000_000);
  const rest = micros - seconds * 1_000_000;
  if (rest === 0) return `${seconds}s`;
  const digits = String(rest).padStart(6, "0");
  return `${seconds}.${digits.endsWith("000") ? digits.slice(0, 3) : digits}s`;
}
