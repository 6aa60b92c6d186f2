/** Times as RFC 3339 text with at most microseconds, as in proto3 JSON. */

const RFC3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/;

/**
 * Microseconds since the epoch, "too fine" if it has nanoseconds, undefined if it is not a time.
 */
export function parseTime(text: string): number | "too fine" | undefined {
  return parseUtc(text) ?? parseAny(text);
}

function parseAny(text: string): number | "too fine" | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [, base = "", fraction = "", zone = ""] = match;
  const millis = Date.parse(base + zone);
  if (Number.isNaN(millis)) return undefined;
  // Date reads the 30th of February as the 2nd of March.
  if (Number(base.slice(8, 10)) > 28 && !isDay(base)) return undefined;
  const nanos = fraction === "" ? 0 : Number(fraction.padEnd(9, "0"));
  if (nanos % 1000 !== 0) return "too fine";
  return millis * 1000 + nanos / 1000;
}

export function formatTime(micros: number): string {
  const seconds = Math.floor(micros / 1_000_000);
  const fraction = micros - seconds * 1_000_000;
  const base = new Date(seconds * 1000).toISOString().slice(0, 19);
  if (fraction === 0) return `${base}Z`;
  const digits = String(fraction).padStart(6, "0");
  return `${base}.${digits.endsWith("000") ? digits.slice(0, 3) : digits}Z`;
}

function isDay(base: string): boolean {
  return new Date(Date.parse(`${base}Z`)).toISOString().startsWith(base.slice(0, 10));
}

/**
 * The common form, in UTC with at most microseconds, without the cost of a pattern; undefined for
 * any other.
 */
function parseUtc(text: string): number | undefined {
  const end = text.length - 1;
  if (end < 19 || end > 26 || text.charCodeAt(end) !== 0x5a) return undefined;
  if (text[4] !== "-" || text[7] !== "-" || text[10] !== "T") return undefined;
  if (text[13] !== ":" || text[16] !== ":") return undefined;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 7);
  const day = digits(text, 8, 10);
  const hour = digits(text, 11, 13);
  const minute = digits(text, 14, 16);
  const second = digits(text, 17, 19);
  // `digits` returns a negative number for a part that is not a number.
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31) return undefined;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) {
    return undefined;
  }
  const millis = Date.UTC(year, month - 1, day, hour, minute, second);
  if (day > 28 && millis >= Date.UTC(year, month, 1)) return undefined;
  const micros = millis * 1000;
  if (end === 19) return micros;
  const fraction = text[19] === "." && end > 20 ? digits(text, 20, end) : -1;
  return fraction < 0 ? undefined : micros + fraction * (POWERS[26 - end] as number);
}

const POWERS = [1, 10, 100, 1_000, 10_000, 100_000];

/** The number that `text[start..end)` writes; negative if it is not a number. */
function digits(text: string, start: number, end: number): number {
  let value = 0;
  for (let i = start; i < end; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}
