/** Colour for people at a terminal. Never in a pipe, and never if `NO_COLOR` is set. */
import { styleText } from "node:util";
import type { Terminal } from "./terminal.ts";

type Format = Parameters<typeof styleText>[0];

/** How text may look on the output. */
export interface Look {
  readonly colour: boolean;
  /** The width of the screen; undefined in a pipe, where nothing is cut. */
  readonly columns: number | undefined;
}

export const PLAIN: Look = { colour: false, columns: undefined };

export function lookOf(terminal: Terminal): Look {
  if (!terminal.outIsTty) return PLAIN;
  return { colour: allowsColour(terminal), columns: terminal.columns };
}

/** A line for stderr that says why the command failed. */
export function noteError(terminal: Terminal, text: string): void {
  const colour = terminal.noteIsTty && allowsColour(terminal);
  const prefix = "braid: ";
  if (!colour || !text.startsWith(prefix)) return terminal.note(text);
  return terminal.note(`${paint("red", "braid:", true)} ${text.slice(prefix.length)}`);
}

export function paint(format: Format, text: string, colour: boolean): string {
  // The terminal has already decided whether to use colour.
  return colour ? styleText(format, text, { validateStream: false }) : text;
}

/** Words of the API for a state, at the start of a cell. */
export function paintState(text: string, colour: boolean): string {
  if (!colour) return text;
  const [word = ""] = /^[A-Z_]+/.exec(text) ?? [];
  const format = STATES[word];
  return format === undefined ? text : paint(format, word, true) + text.slice(word.length);
}

function allowsColour({ env }: Terminal): boolean {
  return (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
}

const STATES: Readonly<Record<string, Format>> = {
  COMPLETED: "green",
  DONE: "green",
  ACTIVE: "green",
  SERVE: "green",
  SPLIT: "green",
  SPLIT_AND_ORIGINAL: "green",
  READY: "green",
  DETECTED: "cyan",
  PLANNING: "cyan",
  PLANNED: "cyan",
  SPLITTING: "cyan",
  VALIDATING: "cyan",
  RUNNING: "cyan",
  SHADOW: "cyan",
  COMPARE: "cyan",
  UPCOMING: "cyan",
  PARKED: "yellow",
  REFUSED: "yellow",
  INVALIDATED: "yellow",
  STOPPED: "yellow",
  ORIGINAL_HELD: "yellow",
  ORIGINAL_FALLBACK: "yellow",
  PAUSED: "yellow",
  CLOSED: "yellow",
  DROPPING: "yellow",
  ON: "red",
  OFF: "yellow",
  FAILED: "red",
};
