/** Values of events as text, JSON or hex, and events as lines to export. */
import type { ReceivedEvent } from "../../../client/connect.ts";

export type Form = "text" | "json" | "hex";

const UTF8 = new TextDecoder("utf-8", { fatal: true });
/** Of one value on the page; an export has all of it. */
const SHOWN_CHARACTERS = 2_000;

export function valueText(value: Uint8Array, form: Form): string {
  return shortened(form === "hex" ? hexOf(value) : readable(value, form));
}

/** Text if it is text, hex if it is not: nothing is replaced silently. */
function readable(value: Uint8Array, form: Form): string {
  let text: string;
  try {
    text = UTF8.decode(value);
  } catch {
    return `not text: ${hexOf(value)}`;
  }
  return form === "json" ? indented(text) : text;
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function hexOf(value: Uint8Array): string {
  return Array.from(value.subarray(0, SHOWN_CHARACTERS), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join(" ");
}

function shortened(text: string): string {
  const left = text.length - SHOWN_CHARACTERS;
  return left > 0 ? `${text.slice(0, SHOWN_CHARACTERS)} … ${left} more characters` : text;
}

/** A line for each event, as `braid write` takes them. */
export function linesOf(events: readonly ReceivedEvent[]): string {
  return events.map((event) => `${JSON.stringify(event)}\n`).join("");
}

/** Rows for a spreadsheet; the values as text. */
export function csvOf(events: readonly ReceivedEvent[]): string {
  const keys = [...new Set(events.flatMap(({ items }) => items.map(({ key }) => key)))];
  const rows = events.map((event) => [
    event.timeSeriesId,
    event.eventTime,
    event.eventId,
    ...keys.map((key) => event.items.find((item) => item.key === key)?.text ?? ""),
  ]);
  const head = ["timeSeriesId", "eventTime", "eventId", ...keys];
  return [head, ...rows].map((row) => `${row.map(cellOf).join(",")}\n`).join("");
}

/** Quoted where it must be. A spreadsheet would run a cell that begins like a formula. */
function cellOf(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
