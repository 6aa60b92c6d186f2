/** Sizes and durations as people write them: `10MiB`, `1h`. */
import { z } from "zod";

const BYTE_UNITS: Readonly<Record<string, number>> = {
  "": 1,
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
  KB: 1000,
  MB: 1000 ** 2,
  GB: 1000 ** 3,
  TB: 1000 ** 4,
};

const DURATION_UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Bytes of `10MiB`, `512 KiB`, `100`; undefined if it is not a size. */
export function parseBytes(text: string): number | undefined {
  return parseWithUnit(text, BYTE_UNITS, true);
}

/**
 * Milliseconds of `10s`, `1.5h`, `250ms`; undefined if it is not a duration. A number without a
 * unit is not one.
 */
export function parseDurationMs(text: string): number | undefined {
  return parseWithUnit(text, DURATION_UNITS, false);
}

export function formatBytes(bytes: number): string {
  for (const unit of ["TiB", "GiB", "MiB", "KiB"] as const) {
    const size = BYTE_UNITS[unit] as number;
    if (bytes >= size) return `${trimZeros((bytes / size).toFixed(1))}${unit}`;
  }
  return `${bytes}B`;
}

export function formatDurationMs(ms: number): string {
  for (const unit of ["d", "h", "m", "s"] as const) {
    const size = DURATION_UNITS[unit] as number;
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  return ms >= 1000 ? `${trimZeros((ms / 1000).toFixed(3))}s` : `${ms}ms`;
}

/** A zod schema for a size with units. */
export function bytesSchema(options: { min: string; max: string }) {
  return unitSchema("a size such as 10MiB", parseBytes, formatBytes, options);
}

/** A zod schema for a duration with units, in milliseconds. */
export function durationSchema(options: { min: string; max: string }) {
  return unitSchema("a duration such as 10s", parseDurationMs, formatDurationMs, options);
}

function unitSchema(
  what: string,
  parse: (text: string) => number | undefined,
  format: (value: number) => string,
  options: { min: string; max: string },
) {
  const min = parse(options.min) as number;
  const max = parse(options.max) as number;
  return z
    .union([z.string(), z.number()])
    .transform((input, context) => {
      const value = parse(String(input));
      if (value === undefined) {
        context.addIssue({ code: "custom", message: `"${input}" is not ${what}` });
        return z.NEVER;
      }
      if (value < min || value > max) {
        context.addIssue({
          code: "custom",
          message: `${format(value)} is outside ${format(min)} to ${format(max)}`,
        });
        return z.NEVER;
      }
      return value;
    })
    .meta({ values: `${options.min} to ${options.max}` });
}

function parseWithUnit(
  text: string,
  units: Readonly<Record<string, number>>,
  wholeOnly: boolean,
): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/.exec(text.trim());
  if (match === null) return undefined;
  const [, digits = "", unit = ""] = match;
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined;
  if (factor === undefined) return undefined;
  const value = Number(digits) * factor;
  return wholeOnly && !Number.isInteger(value) ? undefined : value;
}

function trimZeros(digits: string): string {
  return digits.replace(/\.?0+$/, "");
}
