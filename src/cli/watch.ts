/**
 * `--watch`: shows a list again when something has changed, until Ctrl-C. The server says when
 * (`Watch`); what it does not watch, and with `--interval`, is asked for every few seconds.
 *
 * A screen is redrawn. Elsewhere it prints a line for each row that is new or has changed, and with
 * `-o json` one line for each state, as the command prints it without `--watch`. It outlasts a
 * restart of the server.
 */
import type { Command } from "commander";
import { BraidError } from "../../client/connect.ts";
import type { BraidClient, WatchTopic } from "../../client/connect.ts";
import { UsageError } from "./failures.ts";
import { emit, formatOf, formatted } from "./output.ts";
import type { Data, OutputFormat, OutputOptions } from "./output.ts";
import { printable } from "./print.ts";
import { lookOf, paint } from "./style.ts";
import type { Terminal } from "./terminal.ts";

export interface WatchFlags {
  readonly watch?: boolean;
  readonly interval?: string;
}

/** What of the server to watch. */
export interface Watched {
  readonly client: BraidClient;
  readonly topics: readonly WatchTopic[];
  /** Default: all. */
  readonly namespace?: string | undefined;
}

/** Often enough for a person; a shorter interval would load the server. */
const SECONDS = { usual: 2, min: 1, max: 3600 } as const;

export function addWatchFlag(command: Command): Command {
  return command
    .option("-w, --watch", "show it again when it changes, until Ctrl-C")
    .option(
      "--interval <seconds>",
      "with --watch: ask again this often instead of waiting for changes",
    );
}

/** Prints the result of `look`, once or repeatedly: every 2 s where the server watches nothing. */
export async function emitWatched(
  terminal: Terminal,
  options: OutputOptions & WatchFlags,
  watched: Watched | undefined,
  look: () => Promise<Data>,
): Promise<void> {
  const format = formatOf(options);
  const everyMs = intervalMs(options);
  if (options.watch !== true) return emit(terminal, options, await look());
  const live = options.interval === undefined ? watched : undefined;
  const printer = terminal.outIsTty && format === "table" ? redraws : printsChanges;
  const show = printer(terminal, format, live === undefined ? everyMs : undefined);
  await show(await look(), undefined);
  for await (const sign of signs(terminal, everyMs, live)) {
    if (sign.away !== undefined) await show(undefined, sign.away);
    else if (sign.changed || terminal.outIsTty) await showAgain(terminal, look, show);
  }
}

type Show = (data: Data | undefined, away: string | undefined) => Promise<void>;

/** A server that is away for a while does not end a watch; what was shown stays. */
async function showAgain(terminal: Terminal, look: () => Promise<Data>, show: Show): Promise<void> {
  try {
    await show(await look(), undefined);
  } catch (error) {
    terminal.interrupted.throwIfAborted();
    if (!(error instanceof BraidError) || !isPassing(error)) throw error;
    await show(undefined, error.message);
  }
}

/** A reason to ask again, or why the server cannot say. */
interface Sign {
  readonly changed: boolean;
  readonly away?: string;
}

async function* signs(
  terminal: Terminal,
  everyMs: number,
  live: Watched | undefined,
): AsyncGenerator<Sign, void, undefined> {
  const { clock, interrupted } = terminal;
  if (live !== undefined) yield* liveSigns(live, interrupted);
  for (;;) {
    await clock.sleep(everyMs, interrupted);
    interrupted.throwIfAborted();
    yield { changed: true };
  }
}

/** Ends where the server has no `Watch` or no room for a watcher: then asking is all there is. */
async function* liveSigns(
  { client, topics, namespace = "" }: Watched,
  signal: AbortSignal,
): AsyncGenerator<Sign, void, undefined> {
  try {
    for await (const update of client.watch({ topics, namespace, signal })) {
      if (update.kind === "change") yield { changed: update.topic !== undefined };
      else if (update.error.code === "OVERLOADED") return;
      else yield { changed: false, away: update.error.message };
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof BraidError) || error.code !== "METHOD_NOT_FOUND") throw error;
  }
}

function isPassing({ code, status = 0 }: BraidError): boolean {
  return code === "SERVER_UNREACHABLE" || status === 429 || status >= 502;
}

/** Draws the screen again, with a title that says how old it is. */
function redraws(terminal: Terminal, format: OutputFormat, everyMs: number | undefined): Show {
  let screen = "";
  let atUtc = "";
  const how = everyMs === undefined ? "live" : `every ${everyMs / 1000}s`;
  return async (data, away) => {
    if (data !== undefined) {
      const text = await formatted(terminal, format, data);
      const notes = (data.notes ?? []).map((note) => `\n${printable(note)}`).join("");
      screen = notes === "" ? text : `${text}${notes}\n`;
      atUtc = new Date(terminal.clock.nowMicros() / 1000).toISOString().slice(11, 19);
    }
    const { colour } = lookOf(terminal);
    const state = away === undefined ? how : `AWAY: ${printable(away)}`;
    const title = `${state}, last at ${atUtc} UTC, Ctrl-C ends`;
    await terminal.print(`${CLEAR_SCREEN}${paint("dim", title, colour)}\n\n${screen}`);
  };
}

/** Prints what is new: for a pipe, a file, or a program. */
function printsChanges(terminal: Terminal, format: OutputFormat): Show {
  let before: ReadonlySet<string> | undefined;
  let isAway = false;
  return async (data, away) => {
    if (away !== undefined && !isAway) terminal.note(`braid: away: ${printable(away)}\n`);
    isAway = away !== undefined;
    if (data === undefined) return;
    const rows = (data.records ?? [data.value]).map((record) => JSON.stringify(record));
    const known = before;
    before = new Set(rows);
    const changed = known === undefined || rows.some((row) => !known.has(row));
    if (!changed && known.size === before.size) return;
    if (format === "json") await terminal.print(`${JSON.stringify(data.value)}\n`);
    else if (format === "yaml")
      await terminal.print(`---\n${await formatted(terminal, format, data)}`);
    else if (known === undefined) await terminal.print(await formatted(terminal, format, data));
    else
      await terminal.print(
        await newRows(terminal, format, data, (nth) => !known.has(rows[nth] ?? "")),
      );
  };
}

/** The rows that are new, without the head; everything where a row is not a line. */
async function newRows(
  terminal: Terminal,
  format: OutputFormat,
  data: Data,
  isNew: (nth: number) => boolean,
): Promise<string> {
  const text = await formatted(terminal, format, data);
  const { records, blocks } = data;
  const lines = text.split("\n").slice(format === "text" ? 0 : 1, -1);
  const [table] = blocks;
  const listed = blocks.length === 1 && table !== undefined && "rows" in table;
  if (!listed || lines.length !== records?.length) return text;
  return lines
    .filter((_, nth) => isNew(nth))
    .map((line) => `${line}\n`)
    .join("");
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
