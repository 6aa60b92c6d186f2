/** Times as RFC 3339 text with at most microseconds, as proto3 JSON has them. */

const RFC3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/;

/** Microseconds since the epoch, "too fine" if it has nanoseconds, undefined if it is not a time. */
export function parseTime(text: string): number | "too fine" | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [, base = "", fraction = "", zone = ""] = match;
  const millis = Date.parse(base + zone);
  if (Number.isNaN(millis)) return undefined;
  // Date takes the 30th of February for the 2nd of March.
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
