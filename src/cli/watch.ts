/** `--watch`: prints the same list every few seconds, until Ctrl-C. */
import type { Command } from "commander";
import { UsageError } from "./failures.ts";
import { emit, formatOf, formatted } from "./output.ts";
import type { Data, OutputOptions } from "./output.ts";
import { printable } from "./print.ts";
import { lookOf, paint } from "./style.ts";
import type { Terminal } from "./terminal.ts";

export interface WatchFlags {
  readonly watch?: boolean;
  readonly interval?: string;
}

/** Often enough for a person; a shorter interval would load the server. */
const SECONDS = { usual: 2, min: 1, max: 3600 } as const;

export function addWatchFlag(command: Command): Command {
  return command
    .option("-w, --watch", "repeat until Ctrl-C")
    .option(
      "--interval <seconds>",
      `seconds between two updates with --watch (default: ${SECONDS.usual})`,
    );
}

/** Prints the result of `look`, once or repeatedly. */
export async function emitWatched(
  terminal: Terminal,
  options: OutputOptions & WatchFlags,
  look: () => Promise<Data>,
): Promise<void> {
  const format = formatOf(options);
  const everyMs = intervalMs(options);
  if (options.watch !== true) return emit(terminal, options, await look());
  const { clock, interrupted } = terminal;
  for (;;) {
    // Draws after the answer has arrived, so that the screen is never empty meanwhile.
    const data = await look();
    const text = await formatted(terminal, format, data);
    const notes = (data.notes ?? []).map((note) => `\n${printable(note)}`).join("");
    const screen = notes === "" ? text : `${text}${notes}\n`;
    await terminal.print(terminal.outIsTty ? redrawn(screen, everyMs, terminal) : text);
    await clock.sleep(everyMs, interrupted);
    interrupted.throwIfAborted();
  }
}

function redrawn(text: string, everyMs: number, terminal: Terminal): string {
  const { colour } = lookOf(terminal);
  const at = new Date(terminal.clock.nowMicros() / 1000).toISOString().slice(11, 19);
  const title = `every ${everyMs / 1000}s, last at ${at} UTC, Ctrl-C ends`;
  return `${CLEAR_SCREEN}${paint("dim", title, colour)}\n\n${text}`;
}

function intervalMs({ watch, interval }: WatchFlags): number {
  if (interval === undefined) return SECONDS.usual * 1000;
  if (watch !== true) throw new UsageError("--interval needs --watch");
  const seconds = Number(interval.replace(/s$/, ""));
  if (seconds >= SECONDS.min && seconds <= SECONDS.max) return seconds * 1000;
  throw new UsageError(
    `--interval ${interval}: give seconds from ${SECONDS.min} to ${SECONDS.max}`,
  );
}

/** Moves to the upper left corner and clears the screen. */
const CLEAR_SCREEN = "\u001b[H\u001b[2J";
