/**
 * Accepts one event from outside: checks every rule of the contract in one pass over its bytes and
 * returns the canonical encoding, which is nearly always the bytes as they came.
 */
import { isUtf8Range } from "../lib/bytes.ts";
import {
  encodeEvent,
  itemsOf,
  locateEvent,
  TAG_ITEM,
  TAG_ITEM_KEY,
  TAG_ITEM_VALUE,
  TIME_MICROS_MAX,
} from "./event-record.ts";
import type { EventLimits } from "./event-limits.ts";
import type { EventBytes, ItemBytes } from "./event-record.ts";
import { VarintReader } from "./varint.ts";

/** Why an event is refused. */
export interface EventProblem {
  readonly problem: "EVENT_INVALID" | "EVENT_TOO_LARGE" | "EVENT_TOO_OLD" | "EVENT_TOO_NEW";
  readonly message: string;
}

/**
 * `bytes[start..end)` is the body of an `EventRecord`, from a gRPC caller or from
 * `encode-json-event.ts`.
 */
export function validateEvent(
  bytes: Uint8Array,
  start: number,
  end: number,
  limits: EventLimits,
): EventBytes | EventProblem {
  if (end - start > limits.eventBytesMax) {
    return {
      problem: "EVENT_TOO_LARGE",
      message: `the event has ${end - start} bytes, the limit is ${limits.eventBytesMax}; store large payloads elsewhere and keep a reference`,
    };
  }
  const event = locateEvent(bytes, start, end);
  if (event === undefined) return canonicalize(bytes, start, end, limits);
  const items = checkItems(event, limits);
  if (items === "not canonical") return canonicalize(bytes, start, end, limits);
  if (items !== undefined) return items;
  return checkIds(event, limits) ?? event;
}

const reader = new VarintReader();
const itemReader = new VarintReader();

function checkIds(event: EventBytes, limits: EventLimits): EventProblem | undefined {
  const { bytes, seriesStart, seriesEnd, idStart, idEnd } = event;
  if (seriesEnd - seriesStart > limits.seriesIdBytesMax) {
    return invalid(
      `timeSeriesId has ${seriesEnd - seriesStart} bytes, the limit is ${limits.seriesIdBytesMax}`,
    );
  }
  if (idEnd - idStart > limits.eventIdBytesMax) {
    return invalid(`eventId has ${idEnd - idStart} bytes, the limit is ${limits.eventIdBytesMax}`);
  }
  if (!isUtf8Range(bytes, seriesStart, seriesEnd))
    return invalid("timeSeriesId is not valid UTF-8");
  if (!isUtf8Range(bytes, idStart, idEnd)) return invalid("eventId is not valid UTF-8");
  return undefined;
}

function checkItems(
  event: EventBytes,
  limits: EventLimits,
): EventProblem | "not canonical" | undefined {
  const { bytes, end } = event;
  let at = event.itemsStart;
  let count = 0;
  let seen: Set<string> | undefined;
  while (at < end) {
    if (bytes[at] !== TAG_ITEM) return "not canonical";
    reader.position = at + 1;
    const length = reader.read(bytes, end);
    const itemStart = reader.position;
    const itemEnd = itemStart + length;
    if (length < 0 || !reader.canonical || itemEnd > end) return "not canonical";
    if (length === 0 || bytes[itemStart] !== TAG_ITEM_KEY) return "not canonical";
    reader.position = itemStart + 1;
    const keyLength = reader.read(bytes, itemEnd);
    const keyStart = reader.position;
    const keyEnd = keyStart + keyLength;
    if (keyLength <= 0 || !reader.canonical || keyEnd > itemEnd) return "not canonical";
    if (keyEnd < itemEnd) {
      if (bytes[keyEnd] !== TAG_ITEM_VALUE) return "not canonical";
      reader.position = keyEnd + 1;
      const valueLength = reader.read(bytes, itemEnd);
      if (valueLength <= 0 || !reader.canonical || reader.position + valueLength !== itemEnd) {
        return "not canonical";
      }
    }
    count++;
    if (count > limits.itemsMax) return invalid(`the event has more than ${limits.itemsMax} items`);
    if (keyLength > limits.itemKeyBytesMax) {
      return invalid(
        `an eventItemKey has ${keyLength} bytes, the limit is ${limits.itemKeyBytesMax}`,
      );
    }
    if (!isUtf8Range(bytes, keyStart, keyEnd)) return invalid("an eventItemKey is not valid UTF-8");
    // Comparing each key with all earlier ones is fastest for few keys, but quadratic for many.
    if (count === COMPARED_ITEMS_MAX) seen = keysBefore(event, at);
    const repeated =
      seen === undefined
        ? count > 1 && standsBefore(event, at, keyStart, keyLength)
        : seen.size === seen.add(latin1(bytes, keyStart, keyEnd)).size;
    if (repeated) {
      return invalid(`eventItemKey "${text(bytes, keyStart, keyEnd)}" is there twice`);
    }
    at = itemEnd;
  }
  return undefined;
}

const COMPARED_ITEMS_MAX = 16;

/** The keys of the items before `before`, which are already checked. */
function keysBefore(event: EventBytes, before: number): Set<string> {
  const keys = new Set<string>();
  for (const { key } of itemsOf({ ...event, end: before })) keys.add(latin1(key, 0, key.length));
  return keys;
}

/** Bytes as a string that is equal only if the bytes are. */
function latin1(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("latin1");
}

/** Whether an item before `before` has the same key. */
function standsBefore(
  event: EventBytes,
  before: number,
  keyStart: number,
  keyLength: number,
): boolean {
  const { bytes } = event;
  let at = event.itemsStart;
  while (at < before) {
    itemReader.position = at + 1;
    const length = itemReader.read(bytes, before);
    const itemStart = itemReader.position;
    itemReader.position = itemStart + 1;
    const otherLength = itemReader.read(bytes, before);
    if (otherLength === keyLength && sameBytes(bytes, itemReader.position, keyStart, keyLength)) {
      return true;
    }
    at = itemStart + length;
  }
  return false;
}

function sameBytes(bytes: Uint8Array, a: number, b: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (bytes[a + i] !== bytes[b + i]) return false;
  return true;
}

const OTHER_FIELDS_MAX = 64;

/**
 * The slow path, for an event that is not canonical or lacks something: reads any valid protobuf
 * encoding (fields in any order, the last of a repeated field wins, unknown fields are dropped) and
 * rewrites it, or reports what is missing.
 */
function canonicalize(
  bytes: Uint8Array,
  start: number,
  end: number,
  limits: EventLimits,
): EventBytes | EventProblem {
  let series: Uint8Array | undefined;
  let id: Uint8Array | undefined;
  let seconds = 0n;
  let nanos = 0n;
  let hasTime = false;
  const items: ItemBytes[] = [];
  // An item has two fields; the rest is for what is repeated or unknown. A megabyte can hold half a
  // million.
  const budget = { left: limits.itemsMax * 3 + OTHER_FIELDS_MAX };
  const whole = readFields(bytes, start, end, budget, (number, value) => {
    if (number === 1 && typeof value !== "bigint") series = value;
    if (number === 3 && typeof value !== "bigint") id = value;
    if (number === 2 && typeof value !== "bigint") {
      hasTime = true;
      return readFields(value, 0, value.length, budget, (part, amount) => {
        if (part === 1 && typeof amount === "bigint") seconds = BigInt.asIntN(64, amount);
        if (part === 2 && typeof amount === "bigint") nanos = BigInt.asIntN(32, amount);
        return true;
      });
    }
    if (number === 4 && typeof value !== "bigint") {
      let key = new Uint8Array();
      let itemValue = new Uint8Array();
      const read = readFields(value, 0, value.length, budget, (part, content) => {
        if (part === 1 && typeof content !== "bigint") key = content as typeof key;
        if (part === 2 && typeof content !== "bigint") itemValue = content as typeof itemValue;
        return true;
      });
      items.push({ key, value: itemValue });
      return read;
    }
    return true;
  });
  if (budget.left < 0) return invalid(`the event has more than ${limits.itemsMax} items`);
  if (!whole) return invalid("the event is not a valid EventRecord message");
  if (series === undefined || series.length === 0) return invalid("timeSeriesId is missing");
  if (id === undefined || id.length === 0) return invalid("eventId is missing");
  if (!hasTime) return invalid("eventTime is missing");
  if (nanos < 0n || nanos > 999_999_999n)
    return invalid("eventTime.nanos is outside 0 to 999999999");
  if (nanos % 1000n !== 0n)
    return invalid(
      "eventTime has nanoseconds, and times have microseconds: truncate it before sending",
    );
  if (items.some((item) => item.key.length === 0)) return invalid("an eventItemKey is empty");
  const time = seconds * 1_000_000n + nanos / 1000n;
  if (time < 0n) return { problem: "EVENT_TOO_OLD", message: "eventTime is before 1970" };
  if (time > BigInt(TIME_MICROS_MAX))
    return { problem: "EVENT_TOO_NEW", message: "eventTime is after the year 2255" };
  const event = encodeEvent(series, Number(time), id, items);
  const problem = checkItems(event, limits);
  if (problem === "not canonical") return invalid("the event is not a valid EventRecord message");
  return problem ?? checkIds(event, limits) ?? event;
}

/**
 * Calls `take` for each field of a message; false if the bytes are not a message, or hold more
 * fields than allowed.
 */
function readFields(
  bytes: Uint8Array,
  start: number,
  end: number,
  budget: { left: number },
  take: (number: number, value: Uint8Array | bigint) => boolean,
): boolean {
  let at = start;
  while (at < end) {
    if (--budget.left < 0) return false;
    const fields = new VarintReader();
    fields.position = at;
    const tag = fields.read(bytes, end);
    if (tag < 8 || tag > 0xffff_ffff) return false;
    const number = Math.floor(tag / 8);
    at = fields.position;
    switch (tag & 7) {
      case 0: {
        const value = readBigVarint(bytes, at, end);
        if (value === undefined || !take(number, value.value)) return false;
        at = value.next;
        break;
      }
      case 1:
        at += 8;
        break;
      case 2: {
        const length = fields.read(bytes, end);
        const from = fields.position;
        if (length < 0 || from + length > end) return false;
        if (!take(number, bytes.subarray(from, from + length))) return false;
        at = from + length;
        break;
      }
      case 5:
        at += 4;
        break;
      default:
        return false;
    }
  }
  return at === end;
}

function readBigVarint(
  bytes: Uint8Array,
  start: number,
  end: number,
): { value: bigint; next: number } | undefined {
  let value = 0n;
  for (let i = start; i < end && i - start < 10; i++) {
    const byte = bytes[i] as number;
    value |= BigInt(byte & 0x7f) << BigInt(7 * (i - start));
    if (byte < 0x80) return { value, next: i + 1 };
  }
  return undefined;
}

function invalid(message: string): EventProblem {
  return { problem: "EVENT_INVALID", message };
}

function text(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.subarray(start, end)).toString();
}
