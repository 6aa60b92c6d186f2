/** Reads single values of a row, of a driver's types or as text. Pure. */
import type { Value } from "./row-source.ts";

/** The same text for the same value, however a source writes it. */
export function textOf(value: Value): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return String(value);
}

export function isMissing(value: Value): boolean {
  return value === null || value === undefined || value === "";
}

/** Bytes of a value as Cassandra stores it: numbers and times take 8, UUIDs 16. */
export function storedBytes(value: Value): number {
  if (value === null || value === undefined) return 0;
  if (value instanceof Uint8Array) return value.length;
  if (typeof value === "boolean") return 1;
  if (typeof value !== "string") return 8;
  if (UUID.test(value)) return 16;
  if (NUMBER.test(value) || ISO_TIME.test(value)) return 8;
  return Buffer.byteLength(value);
}

/** The same of a column whose type is known: a text of digits is a text there. */
export function storedBytesAs(value: Value, type: string | undefined): number {
  const bytes = storedBytes(value);
  if (bytes === 0 || type === undefined) return bytes;
  if (typeof value === "string" && TEXT_TYPES.has(type)) return Buffer.byteLength(value);
  // The type of a file's column is a guess: a longer value is something else.
  return bytes > 16 ? bytes : (FIXED_BYTES[type] ?? bytes);
}

const TEXT_TYPES: ReadonlySet<string> = new Set(["ascii", "text", "varchar"]);
/** A counter has the counts of its replicas, 32 bytes for each; the others their value. */
const FIXED_BYTES: Readonly<Record<string, number>> = {
  tinyint: 1,
  smallint: 2,
  int: 4,
  float: 4,
  date: 4,
  inet: 4,
  counter: 36,
};

/** The CQL type that fits all these values: "5" and "5.5" are doubles, "5" and "x" are texts. */
export function cqlTypeOf(values: readonly Value[]): string {
  const types = new Set(values.map(cqlType));
  const [first = "text", ...others] = types;
  if (others.length === 0) return first;
  const isOneOf = (...names: string[]): boolean => [...types].every((type) => names.includes(type));
  if (isOneOf("bigint", "varint")) return "varint";
  if (isOneOf("bigint", "double")) return "double";
  return isOneOf("timeuuid", "uuid") ? "uuid" : "text";
}

function integerType(value: bigint): string {
  return BigInt.asIntN(64, value) === value ? "bigint" : "varint";
}

/** The CQL type that a value suggests. */
export function cqlType(value: Value): string {
  if (value instanceof Date) return "timestamp";
  if (value instanceof Uint8Array) return "blob";
  if (typeof value === "boolean") return "boolean";
  if (typeof value === "bigint") return integerType(value);
  if (typeof value === "number") return Number.isSafeInteger(value) ? "bigint" : "double";
  const text = textOf(value);
  if (UUID.test(text)) return text[14] === "1" ? "timeuuid" : "uuid";
  if (ISO_TIME.test(text)) return "timestamp";
  // With a zero in front it is a code, such as a postcode.
  if (/^-?(?:0|[1-9]\d*)$/.test(text)) return integerType(BigInt(text));
  return NUMBER.test(text) && !/^-?0\d/.test(text) ? "double" : "text";
}

/**
 * Microseconds since 1970 of a Date, an ISO time, a UUID of version 1 or 7, or a number of seconds,
 * milliseconds, microseconds or nanoseconds, told apart by its size. NaN if it is none of them.
 */
export function microsOf(value: Value): number {
  if (value instanceof Date) return value.getTime() * 1_000;
  if (typeof value === "number" || typeof value === "bigint") return microsOfNumber(Number(value));
  if (typeof value !== "string" || value === "") return Number.NaN;
  if (UUID.test(value)) return microsOfUuid(value);
  if (NUMBER.test(value)) return microsOfNumber(Number(value));
  if (ISO_TIME.test(value)) return Date.parse(inUtc(value)) * 1_000;
  // Date.parse finds a date even in "view 5"; a time in another form has hours.
  return /\d:\d\d/.test(value) ? Date.parse(value) * 1_000 : Number.NaN;
}

export function numberOf(value: Value): number {
  return isMissing(value) ? Number.NaN : Number(textOf(value));
}

export function looksLikeTime(value: Value): boolean {
  if (value instanceof Date) return true;
  const text = textOf(value);
  if (UUID.test(text)) return text[14] === "1" || text[14] === "7";
  if (ISO_TIME.test(text)) return true;
  if (!NUMBER.test(text)) return false;
  // From 2001 to 2096 in seconds, or finer: other numbers are counts or ids.
  const number = Number(text);
  return [1, 1e3, 1e6, 1e9].some((unit) => number >= 1e9 * unit && number < 4e9 * unit);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const NUMBER = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;
const ISO_TIME =
  /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/** A time without a zone is in UTC, as Cassandra's times are, whatever this machine's zone is. */
function inUtc(time: string): string {
  return /(?:Z|[+-]\d{2}:?\d{2})$/.test(time.slice(10))
    ? time
    : `${time.slice(0, 10)}T${time.slice(11) || "00:00"}Z`;
}

/** Seconds until the year 5138, milliseconds from 1973 on. */
function microsOfNumber(number: number): number {
  const size = Math.abs(number);
  if (size < 1e11) return Math.round(number * 1e6);
  if (size < 1e14) return Math.round(number * 1e3);
  return size < 1e17 ? Math.round(number) : Math.round(number / 1e3);
}

/** 100 ns since 1582 in version 1, milliseconds since 1970 in version 7. */
function microsOfUuid(uuid: string): number {
  const [low = "", mid = "", high = ""] = uuid.split("-");
  if (high.startsWith("7")) return Number.parseInt(low + mid, 16) * 1_000;
  if (!high.startsWith("1")) return Number.NaN;
  const ticks = BigInt(`0x${high.slice(1)}${mid}${low}`) - UUID_EPOCH_TICKS;
  return Number(ticks / 10n);
}

const UUID_EPOCH_TICKS = 0x01b2_1dd2_1381_4000n;
