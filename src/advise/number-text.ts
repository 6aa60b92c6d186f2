/** Numbers for people: two or three digits of an estimate are enough. Pure. */
import { formatCount } from "../lib/quantity.ts";

/** "1,230", "87", "3.4", "0.012". */
export function short(value: number, digits = DIGITS): string {
  if (value >= 1_000) return formatCount(Number(value.toPrecision(digits)));
  if (value >= 10) return String(Math.round(value));
  return value === 0 ? "0" : String(Number(value.toPrecision(2)));
}

const DIGITS = 3;

/** With digits enough to differ from a limit that it is above or below: "1,004", not "1,000". */
export function shortBeside(value: number, limit: number): string {
  const isNear = value !== limit && short(value) === short(limit);
  if (!isNear) return short(value);
  for (let digits = DIGITS + 1; digits < 12; digits++) {
    const text = formatCount(Number(value.toPrecision(digits)));
    if (text !== formatCount(Number(limit.toPrecision(digits)))) return text;
  }
  return short(value);
}

/** "12 %", "less than 0.01 %". */
export function percent(share: number): string {
  if (share <= 0) return "0 %";
  return share < 0.0001 ? "less than 0.01 %" : `${short(share * 100)} %`;
}

/** "1 partition", "2.5 partitions", "1,230 partitions". */
export function shortQuantity(value: number, noun: string): string {
  const text = short(value);
  return `${text} ${noun}${text === "1" ? "" : "s"}`;
}

/** Of a number that may be an estimate: there is no part of a row. Told apart from the limit. */
export function rowsText(rows: number, limit = 0): string {
  const text = shortBeside(Math.ceil(rows - 1e-6), limit);
  return `${text} row${text === "1" ? "" : "s"}`;
}

/** For an axis: "10", "100k", "10M". */
export function compact(value: number): string {
  if (value >= 1e9) return `${short(value / 1e9)}G`;
  if (value >= 1e6) return `${short(value / 1e6)}M`;
  return value >= 1e4 ? `${short(value / 1e3)}k` : short(value);
}

/** A key of a partition may be any text. */
export function keyText(key: string): string {
  return key.length <= KEY_CHARS_MAX ? key : `${key.slice(0, KEY_CHARS_MAX)}…`;
}

const KEY_CHARS_MAX = 80;

/** In units of 1,000, as the limits are given: "98 MB". */
export function bytesText(bytes: number): string {
  for (const [unit, size] of UNITS) if (bytes >= size) return `${short(bytes / size)} ${unit}`;
  return `${Math.round(bytes)} B`;
}

const UNITS = [
  ["TB", 1e12],
  ["GB", 1e9],
  ["MB", 1e6],
  ["KB", 1e3],
] as const;
