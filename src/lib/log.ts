/**
 * Structured log lines on stderr: JSON for machines, one readable line each on a terminal.
 *
 * Neither ids of time series nor payloads belong in it. Errors are given under `err`.
 */
import { pino } from "pino";
import type { DestinationStream, Logger } from "pino";

export type Log = Pick<Logger, "debug" | "info" | "warn" | "error">;

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export function createLog(level: LogLevel, stream: typeof process.stderr = process.stderr): Log {
  // Synchronous: what is said just before the process ends must not be lost.
  const lines: DestinationStream = stream.isTTY
    ? { write: (line) => stream.write(readable(line)) }
    : pino.destination({ dest: stream.fd, sync: true });
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, lines);
}

/** For tests, and for parts that are to be quiet. */
export const silentLog: Log = pino({ level: "silent" });

const COLORS: Readonly<Record<number, string>> = { 20: "90", 30: "32", 40: "33", 50: "31" };
const NAMES: Readonly<Record<number, string>> = {
  20: "debug",
  30: "info",
  40: "warn",
  50: "error",
};

/** `10:00:00.123 warn  what happened key=value`, and the stack under it. */
function readable(line: string): string {
  // The line was made by pino from an object, two lines above.
  const { time, level, msg, err, ...rest } = JSON.parse(line) as {
    time: string;
    level: number;
    msg?: string;
    err?: { stack?: string };
  };
  const name = `\u001b[${COLORS[level] ?? "0"}m${(NAMES[level] ?? "").padEnd(5)}\u001b[0m`;
  const fields = Object.entries(rest).map(([key, value]) => ` ${key}=${shown(value)}`);
  const stack = err?.stack === undefined ? "" : `\n${err.stack}`;
  return `${time.slice(11, 23)} ${name} ${msg ?? ""}${fields.join("")}${stack}\n`;
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
