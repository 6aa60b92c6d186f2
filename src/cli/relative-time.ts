/** Formats times of the API for people: how long ago, or how long until then. */

/** `3m ago`, `in 2h`, `now`. */
export function relative(time: string, nowMicros: number): string {
  const milliseconds = nowMicros / 1000 - Date.parse(time);
  if (Number.isNaN(milliseconds)) return time;
  // A day that began a moment ago has 24 hours left, not 23.
  const length = roughly(Math.abs(milliseconds), milliseconds > 0 ? 0 : NEARLY);
  if (length === "0s") return "now";
  return milliseconds > 0 ? `${length} ago` : `in ${length}`;
}

/** `2026-11-15T10:00:00Z (3m ago)`. */
export function withRelative(time: string, nowMicros: number): string {
  const text = relative(time, nowMicros);
  return text === time ? time : `${time} (${text})`;
}

/** How long ago, in the largest unit: `3m`, `2d`. */
export function ageOf(time: string, nowMicros: number): string {
  const milliseconds = Math.max(0, nowMicros / 1000 - Date.parse(time));
  return Number.isNaN(milliseconds) ? time : roughly(milliseconds);
}

/** `2026-11-14 07:00-08:00`, or with both days if it ends on another day. */
export function timeRange(startMs: number, endMs: number): string {
  const [start, end] = [startMs, endMs].map((time) => new Date(time).toISOString());
  if (start === undefined || end === undefined) return "";
  const digits = startMs % 60_000 === 0 && endMs % 60_000 === 0 ? 16 : 19;
  const [from, to] = [start, end].map((time) => time.slice(0, digits).replace("T", " "));
  const sameDay = start.slice(0, 10) === end.slice(0, 10);
  return sameDay ? `${from}-${to?.slice(11)}` : `${from} - ${to}`;
}

/** Without the year if it is the current one. */
export function shortTime(range: string, nowMicros: number): string {
  const year = new Date(nowMicros / 1000).toISOString().slice(0, 5);
  return range.replaceAll(new RegExp(`(^|- )${year}`, "g"), "$1");
}

/** The part of a unit that counts as the whole. */
const NEARLY = 0.01;

function roughly(milliseconds: number, nearly = 0): string {
  for (const [unit, factor] of UNITS) {
    const whole = Math.floor(milliseconds / factor + nearly);
    if (whole > 0) return `${whole}${unit}`;
  }
  return "0s";
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
] as const;
