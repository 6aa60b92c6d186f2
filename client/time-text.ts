/**
 * Times as RFC 3339 text, read and written exactly.
 *
 * A parsed time is two numbers, seconds since 1970 and nanoseconds, as protobuf has it. So a time
 * that Braid refuses, for example a finer one than a microsecond, reaches the server as it is, and
 * the server says what is wrong.
 */
export interface ParsedTime {
  /** Rounded down, so that `nanos` is never negative. */
  seconds: number;
  nanos: number;
}

/** Writes into `into`; false if it is not a time. */
export function parseTime(time: unknown, into: ParsedTime): boolean {
  if (typeof time === "string") return parseUtc(time, into) || parseAny(time, into);
  if (!(time instanceof Date)) return false;
  const millis = time.getTime();
  into.seconds = Math.floor(millis / 1000);
  into.nanos = (millis - into.seconds * 1000) * 1_000_000;
  return !Number.isNaN(millis);
}

/** As the server writes it: no fraction, milliseconds, or microseconds. */
export function formatMicros(micros: number): string {
  const seconds = Math.floor(micros / 1_000_000);
  const fraction = micros - seconds * 1_000_000;
  if (seconds !== lastSecond) {
    const text = new Date(seconds * 1000).toISOString();
    // Without the milliseconds and the zone; a year before 0 or after 9999 has a sign.
    lastText = text.slice(0, text.length - 5);
    lastSecond = seconds;
  }
  if (fraction === 0) return `${lastText}Z`;
  const millis = fraction / 1000;
  return Number.isInteger(millis)
    ? `${lastText}.${String(1000 + millis).slice(1)}Z`
    : `${lastText}.${String(1_000_000 + fraction).slice(1)}Z`;
}

/** Events that follow one another are often of one second. */
let lastSecond = 0;
let lastText = "1970-01-01T00:00:00";

const RFC3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/;

function parseAny(text: string, into: ParsedTime): boolean {
  const [, base = "", fraction = "", zone = ""] = RFC3339.exec(text) ?? [];
  const millis = Date.parse(base + zone);
  if (Number.isNaN(millis)) return false;
  // Date reads the 30th of February as the 2nd of March.
  const day = base.slice(0, 10);
  if (!new Date(Date.parse(`${base}Z`)).toISOString().startsWith(day)) return false;
  into.seconds = millis / 1000;
  into.nanos = fraction === "" ? 0 : Number(fraction.padEnd(9, "0"));
  return true;
}

/** The common form, in UTC with at most microseconds, without the cost of a pattern. */
function parseUtc(text: string, into: ParsedTime): boolean {
  const end = text.length - 1;
  if (end < 19 || end > 26 || text.charCodeAt(end) !== 0x5a) return false;
  if (text[4] !== "-" || text[7] !== "-" || text[10] !== "T") return false;
  if (text[13] !== ":" || text[16] !== ":") return false;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 7);
  const day = digits(text, 8, 10);
  const hour = digits(text, 11, 13);
  const minute = digits(text, 14, 16);
  const second = digits(text, 17, 19);
  // `digits` returns a negative number for a part that is not a number.
  if (year < 1000 || month < 1 || month > 12 || day < 1 || day > 28) return false;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return false;
  let micros = 0;
  if (end > 19) {
    micros = text[19] === "." && end > 20 ? digits(text, 20, end) : -1;
    if (micros < 0) return false;
    for (let missing = 26 - end; missing > 0; missing--) micros *= 10;
  }
  into.seconds = Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
  into.nanos = micros * 1000;
  return true;
}

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
