/**
 * Structured log lines on stderr: JSON for machines, pino-pretty's readable lines on a terminal.
 *
 * Log lines hold neither time series ids nor payloads. Errors go under `err`.
 */
import { createRequire } from "node:module";
import { pino } from "pino";
import type { DestinationStream, Logger } from "pino";
import type { PinoPretty } from "pino-pretty";

export type Log = Pick<Logger, "debug" | "info" | "warn" | "error">;

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export function createLog(level: LogLevel, stream: typeof process.stderr = process.stderr): Log {
  // Synchronous, so that lines written just before the process ends are not lost.
  const lines: DestinationStream = stream.isTTY
    ? readableLines(stream)
    : pino.destination({ dest: stream.fd, sync: true });
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, lines);
}

/** For tests, and for parts that must not log. */
export const silentLog: Log = pino({ level: "silent" });

/** Prints `10:00:00.123 WARN: what happened`, with the fields below it. */
function readableLines(stream: typeof process.stderr): DestinationStream {
  // Loaded only for a terminal: a service under a supervisor has none.
  const { prettyFactory } = createRequire(import.meta.url)("pino-pretty") as typeof PinoPretty;
  const pretty = prettyFactory({
    colorize: stream.hasColors(),
    translateTime: "SYS:HH:MM:ss.l",
    singleLine: true,
  });
  return { write: (line) => void stream.write(pretty(line) ?? "") };
}
