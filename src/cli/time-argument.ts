/**
 * Parses times as people write them: RFC 3339, a day, `now`, or relative to now such as `-1h` and
 * `+30s`.
 */
import { formatTime, parseTime } from "../wire/time-text.ts";
import { UsageError } from "./failures.ts";
import type { Terminal } from "./terminal.ts";

/** The time as RFC 3339; microseconds are kept. */
export async function timeArgument(
  flag: string,
  text: string,
  terminal: Terminal,
): Promise<string> {
  if (text === "now") return formatTime(terminal.clock.nowMicros());
  if (/^[+-]/.test(text)) {
    const micros = (await durationMs(flag, text.slice(1))) * 1000;
    const now = terminal.clock.nowMicros();
    return formatTime(Math.round(text.startsWith("-") ? now - micros : now + micros));
  }
  const whole = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text;
  const micros = parseTime(whole);
  if (micros === "too fine") {
    throw new UsageError(`${flag} ${text}: finer than a microsecond`);
  }
  if (micros === undefined) {
    throw new UsageError(
      `${flag} ${text}: not a time; give 2026-11-15T10:00:00Z, 2026-11-15, now, or -1h`,
    );
  }
  return formatTime(micros);
}

export async function durationMs(flag: string, text: string): Promise<number> {
  // Imported late, because it loads a validation library that most commands do not need.
  const { parseDurationMs } = await import("../lib/units.ts");
  const milliseconds = parseDurationMs(text);
  if (milliseconds === undefined) {
    throw new UsageError(`${flag} ${text}: not a duration; give 90s, 10m, 1.5h or 7d`);
  }
  return milliseconds;
}
