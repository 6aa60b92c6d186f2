/**
 * Structured log lines on stderr: JSON for machines, pino-pretty's readable lines on a terminal.
 *
 * Log lines hold neither time series ids nor payloads. Errors go under `err`. The same line passes a
 * bounded number of times in each window: see `LineLimit`.
 */
import { createRequire } from "node:module";
import { pino } from "pino";
import type { DestinationStream, Logger, LoggerOptions } from "pino";
import type { PinoPretty } from "pino-pretty";
import type { Clock } from "./clock.ts";
import { systemClock } from "./clock.ts";
import { LineLimit } from "./line-limit.ts";

export type Log = Pick<Logger, "debug" | "info" | "warn" | "error">;

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export function createLog(
  level: LogLevel,
  stream: typeof process.stderr = process.stderr,
  clock: Pick<Clock, "monotonicMs"> = systemClock,
): Log {
  // Synchronous, so that lines written just before the process ends are not lost.
  const lines: DestinationStream = stream.isTTY
    ? readableLines(stream)
    : pino.destination({ dest: stream.fd, sync: true });
  const limit = new LineLimit(clock);
  const hooks: LoggerOptions["hooks"] = {
    logMethod(args, method) {
      const fields: unknown = args[0];
      const [text, given] =
        typeof fields === "string" ? [fields, {}] : [String(args[1]), fields ?? {}];
      const leftOut = limit.pass(text);
      if (leftOut !== undefined)
        method.call(this, leftOut === 0 ? given : { ...given, leftOut }, text);
    },
  };
  const timestamp = pino.stdTimeFunctions.isoTime;
  return pino({ level, base: null, timestamp, hooks }, lines);
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
