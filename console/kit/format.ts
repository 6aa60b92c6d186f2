/** Numbers as text, always with a unit. Binary units for bytes; exact values are in the title. */

// Made once: long tables format tens of thousands of numbers.
const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const TENTHS = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });
const SMALL = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 2 });

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** "31.4 MiB". */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < BYTES.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? countText(value) : figure(value)} ${BYTES[unit] ?? "B"}`;
}

/** "1,461,243". */
export function countText(count: number): string {
  return WHOLE.format(count);
}

/** "1 event", "1,461,243 events"; "2 queries" with its own plural. */
export function nounText(count: number, noun: string, plural = `${noun}s`): string {
  return `${countText(count)} ${count === 1 ? noun : plural}`;
}

/** "12.3/s". Small rates keep a digit that is not zero. */
export function rateText(perSecond: number): string {
  return `${figure(perSecond)}/s`;
}

/** "27 µs", "41 ms", "2.3 s", "3 min 20 s", "2 h 5 min", "4 d 3 h". */
export function durationText(ms: number): string {
  const size = Math.abs(ms);
  if (ms === 0) return "0 ms";
  if (size < 0.1) return `${figure(ms * 1_000)} µs`;
  if (size < 1_000) return `${figure(ms)} ms`;
  if (size < 60_000) return `${figure(ms / 1_000)} s`;
  if (size < 3_600_000) return two(ms, 60_000, "min", 1_000, "s");
  if (size < 86_400_000) return two(ms, 3_600_000, "h", 60_000, "min");
  return two(ms, 86_400_000, "d", 3_600_000, "h");
}

/** "37 %", "0.04 %", of a fraction. */
export function percentText(fraction: number): string {
  return `${figure(fraction * 100)} %`;
}

/** Milliseconds of a duration of the API, such as "3600s" or "0.250s". */
export function msOf(duration: string | undefined): number | undefined {
  if (duration === undefined) return undefined;
  const seconds = Number(duration.replace(/s$/, ""));
  return Number.isFinite(seconds) ? seconds * 1_000 : undefined;
}

/** About three digits: "0.041", "4.1", "41.3", "413", "4,130". */
export function figure(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 100) return countText(value);
  return size >= 1 ? TENTHS.format(value) : SMALL.format(value);
}

function two(ms: number, large: number, largeUnit: string, small: number, unit: string): string {
  const whole = Math.trunc(ms / large);
  const rest = Math.round(Math.abs(ms - whole * large) / small);
  if (rest === 0) return `${whole} ${largeUnit}`;
  if (rest * small >= large) return `${whole + Math.sign(ms)} ${largeUnit}`;
  return `${whole} ${largeUnit} ${rest} ${unit}`;
}
