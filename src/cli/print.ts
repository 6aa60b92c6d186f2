/** Formats values for people: sizes and durations with units, and no control characters. */
import { formatCount } from "../lib/quantity.ts";

export function count(number: number | string): string {
  return formatCount(Number(number));
}

export function size(bytes: number | string): string {
  const number = Number(bytes);
  for (const [unit, factor] of SIZES) {
    if (number >= factor) return `${trimZero((number / factor).toFixed(1))} ${unit}`;
  }
  return `${number} B`;
}

/** Formats a duration in proto3 JSON, for example "600s". */
export function duration(text: string): string {
  const milliseconds = Math.round(Number(text.replace(/s$/, "")) * 1000);
  return Number.isNaN(milliseconds) ? text : millis(milliseconds);
}

/** Exact if it is a whole number of a unit, otherwise rounded. */
export function millis(number: number): string {
  for (const [unit, factor] of DURATIONS) {
    if (number >= factor && number % factor === 0) return `${number / factor}${unit}`;
  }
  if (number >= 1000) return `${trimZero((number / 1000).toFixed(1))}s`;
  return `${trimZero(number.toFixed(number < 10 ? 1 : 0))}ms`;
}

/** Escapes control characters: an id must not move the cursor or clear the screen. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`;
  });
}

/** A value as text if it is text, otherwise as hexadecimal; not yet safe for a terminal. */
export function itemText(value: Uint8Array, lengthMax = Number.POSITIVE_INFINITY): string {
  const text = asText(value) ?? `0x${Buffer.from(value).toString("hex")}`;
  return text.length > lengthMax ? `${text.slice(0, lengthMax - 1)}…` : text;
}

const SIZES = [
  ["TiB", 1024 ** 4],
  ["GiB", 1024 ** 3],
  ["MiB", 1024 ** 2],
  ["KiB", 1024],
] as const;

const DURATIONS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
] as const;

// Control characters, and characters that change the text direction.
const UNSAFE = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Returns undefined if it is not UTF-8. */
export function asText(value: Uint8Array): string | undefined {
  try {
    return decoder.decode(value);
  } catch {
    // Values need not be UTF-8.
    return undefined;
  }
}

function trimZero(digits: string): string {
  return digits.replace(/\.0$/, "");
}
