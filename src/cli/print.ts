/** How data looks to people: aligned tables, sizes and durations with units, nothing a terminal would obey. */

/** Columns by their heads; a head that begins with ">" is a column of numbers, aligned right. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const names = heads.map((head) => head.replace(/^>/, ""));
  const all = [names, ...rows.map((row) => row.map(printable))];
  const widths = names.map((_, column) => Math.max(...all.map((row) => lengthOf(row[column]))));
  return all.map((row) => `${alignRow(row, heads, widths)}\n`).join("");
}

/** Names and values, one pair a line. */
export function pairs(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}\n`).join("");
}

export function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

export function count(number: number | string): string {
  return Number(number).toLocaleString("en-US");
}

export function size(bytes: number | string): string {
  const number = Number(bytes);
  for (const [unit, factor] of SIZES) {
    if (number >= factor) return `${trimZero((number / factor).toFixed(1))} ${unit}`;
  }
  return `${number} B`;
}

/** Of a duration in proto3 JSON, such as "600s". */
export function duration(text: string): string {
  const milliseconds = Math.round(Number(text.replace(/s$/, "")) * 1000);
  return Number.isNaN(milliseconds) ? text : millis(milliseconds);
}

/** Exact where it is a whole number of some unit, else rounded. */
export function millis(number: number): string {
  for (const [unit, factor] of DURATIONS) {
    if (number >= factor && number % factor === 0) return `${number / factor}${unit}`;
  }
  if (number >= 1000) return `${trimZero((number / 1000).toFixed(1))}s`;
  return `${trimZero(number.toFixed(number < 10 ? 1 : 0))}ms`;
}

/** How long ago a time of the API is, in its largest unit: `3m`, `2d`. */
export function ageOf(time: string, nowMicros: number): string {
  const milliseconds = Math.max(0, nowMicros / 1000 - Date.parse(time));
  if (Number.isNaN(milliseconds)) return time;
  for (const [unit, factor] of DURATIONS) {
    if (milliseconds >= factor) return `${Math.floor(milliseconds / factor)}${unit}`;
  }
  return "0s";
}

/** Text of others, with control characters spelled out: an id must not move the cursor or clear the screen. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`;
  });
}

/** A value as text if it is text, else as hexadecimal. */
export function itemText(value: Uint8Array, lengthMax: number): string {
  const text = asText(value) ?? `0x${Buffer.from(value).toString("hex")}`;
  const safe = printable(text);
  return safe.length > lengthMax ? `${safe.slice(0, lengthMax - 1)}…` : safe;
}

export function alignRow(
  row: readonly string[],
  heads: readonly string[],
  widths: readonly number[],
): string {
  const cells = row.map((cell, column) => {
    const padding = " ".repeat(Math.max(0, (widths[column] ?? 0) - lengthOf(cell)));
    return heads[column]?.startsWith(">") ? padding + cell : cell + padding;
  });
  return cells.join("  ").trimEnd();
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

// Control characters, and those that change the direction of what follows.
const UNSAFE = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;
const decoder = new TextDecoder("utf-8", { fatal: true });

function asText(value: Uint8Array): string | undefined {
  try {
    return decoder.decode(value);
  } catch {
    // Not UTF-8, which values need not be.
    return undefined;
  }
}

function lengthOf(cell: string | undefined): number {
  return Array.from(cell ?? "").length;
}

function trimZero(digits: string): string {
  return digits.replace(/\.0$/, "");
}
