/**
 * One event as bytes: where its parts lie, without an object for each of them.
 *
 * The canonical encoding of an event is its protobuf `EventRecord` with the fields in order, each
 * at most once, defaults left out and integers in the fewest bytes. It is what Braid stores,
 * answers, counts and checksums, the same on every engine. Most encoders write it already, so most
 * events pass from the caller's request to storage and back unchanged.
 */
import { VarintReader, varintLength, writeVarint } from "./varint.ts";

/** An event's canonical bytes, `bytes[start..end)`, and where its parts lie in them. */
export interface EventBytes {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** Event time in microseconds since the epoch. */
  readonly time: number;
  readonly seriesStart: number;
  readonly seriesEnd: number;
  readonly idStart: number;
  readonly idEnd: number;
  /** The items, each with its tag and length, fill `[itemsStart, end)`. */
  readonly itemsStart: number;
}

export const TAG_SERIES = 0x0a;
const TAG_TIME = 0x12;
export const TAG_ID = 0x1a;
export const TAG_ITEM = 0x22;
export const TAG_ITEM_KEY = 0x0a;
export const TAG_ITEM_VALUE = 0x12;
const TAG_SECONDS = 0x08;
const TAG_NANOS = 0x10;

/** An event whose parts are found again and again, in other bytes each time. */
export type LocatedEvent = { -readonly [Part in keyof EventBytes]: EventBytes[Part] };

export function newLocatedEvent(): LocatedEvent {
  return {
    bytes: NO_BYTES,
    start: 0,
    end: 0,
    time: 0,
    seriesStart: 0,
    seriesEnd: 0,
    idStart: 0,
    idEnd: 0,
    itemsStart: 0,
  };
}

const NO_BYTES = new Uint8Array(0);
const reader = new VarintReader();

/** Outside this range a time is not exact in a JavaScript number: about the years 1684 to 2255. */
export const TIME_MICROS_MAX = Number.MAX_SAFE_INTEGER;

/**
 * Finds the parts of a canonically encoded event; undefined if it is not canonical or lacks a part.
 * Checks neither the items nor the text: `validateEvent` does that for events from outside.
 */
export function locateEvent(bytes: Uint8Array, start: number, end: number): EventBytes | undefined {
  const event = newLocatedEvent();
  return locateAgain(event, bytes, start, end) ? event : undefined;
}

/**
 * As `locateEvent`, into an event that is there already. False if there is none: then `event` is
 * unchanged.
 */
export function locateAgain(
  event: LocatedEvent,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  if (bytes[start] !== TAG_SERIES) return false;
  reader.position = start + 1;
  const seriesLength = reader.read(bytes, end);
  const seriesStart = reader.position;
  const seriesEnd = seriesStart + seriesLength;
  if (seriesLength <= 0 || !reader.canonical || bytes[seriesEnd] !== TAG_TIME) return false;

  reader.position = seriesEnd + 1;
  const timeLength = reader.read(bytes, end);
  const timeStart = reader.position;
  const timeEnd = timeStart + timeLength;
  if (timeLength < 0 || !reader.canonical || timeEnd >= end || bytes[timeEnd] !== TAG_ID)
    return false;
  let seconds = 0;
  let nanos = 0;
  if (reader.position < timeEnd && bytes[reader.position] === TAG_SECONDS) {
    reader.position++;
    seconds = reader.read(bytes, timeEnd);
    if (seconds <= 0 || !reader.canonical) return false;
  }
  if (reader.position < timeEnd && bytes[reader.position] === TAG_NANOS) {
    reader.position++;
    nanos = reader.read(bytes, timeEnd);
    if (nanos <= 0 || nanos > 999_999_999 || nanos % 1000 !== 0 || !reader.canonical) return false;
  }
  if (reader.position !== timeEnd) return false;
  const time = seconds * 1_000_000 + nanos / 1000;
  if (time > TIME_MICROS_MAX) return false;

  reader.position = timeEnd + 1;
  const idLength = reader.read(bytes, end);
  const idStart = reader.position;
  const idEnd = idStart + idLength;
  if (idLength <= 0 || !reader.canonical || idEnd > end) return false;
  event.bytes = bytes;
  event.start = start;
  event.end = end;
  event.time = time;
  event.seriesStart = seriesStart;
  event.seriesEnd = seriesEnd;
  event.idStart = idStart;
  event.idEnd = idEnd;
  event.itemsStart = idEnd;
  return true;
}

/** One item as bytes. */
export interface ItemBytes {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** Writes an event canonically. `time` is not negative. */
export function encodeEvent(
  series: Uint8Array,
  time: number,
  id: Uint8Array,
  items: readonly ItemBytes[],
): EventBytes {
  let length = fieldLength(series.length) + timeFieldLength(time) + fieldLength(id.length);
  for (const item of items) length += fieldLength(itemLength(item));

  const bytes = Buffer.allocUnsafe(length);
  let at = writeHeader(bytes, 0, TAG_SERIES, series.length);
  const seriesStart = at;
  bytes.set(series, at);
  at = writeTimeField(bytes, at + series.length, time);
  at = writeHeader(bytes, at, TAG_ID, id.length);
  const idStart = at;
  bytes.set(id, at);
  at += id.length;
  const itemsStart = at;
  for (const item of items) {
    at = writeHeader(bytes, at, TAG_ITEM, itemLength(item));
    at = writeHeader(bytes, at, TAG_ITEM_KEY, item.key.length);
    bytes.set(item.key, at);
    at += item.key.length;
    if (item.value.length === 0) continue;
    at = writeHeader(bytes, at, TAG_ITEM_VALUE, item.value.length);
    bytes.set(item.value, at);
    at += item.value.length;
  }
  return {
    bytes,
    start: 0,
    end: length,
    time,
    seriesStart,
    seriesEnd: seriesStart + series.length,
    idStart,
    idEnd: idStart + id.length,
    itemsStart,
  };
}

/** Length of the field of an event's time, including its tag. */
export function timeFieldLength(time: number): number {
  const seconds = Math.floor(time / 1_000_000);
  const nanos = (time - seconds * 1_000_000) * 1000;
  return 2 + timestampLength(seconds, nanos);
}

/** Writes that field at `start` and returns the position behind it. */
export function writeTimeField(bytes: Uint8Array, start: number, time: number): number {
  const seconds = Math.floor(time / 1_000_000);
  const nanos = (time - seconds * 1_000_000) * 1000;
  bytes[start] = TAG_TIME;
  // Far below 128: it fits into one byte.
  bytes[start + 1] = timestampLength(seconds, nanos);
  let at = start + 2;
  if (seconds !== 0) {
    bytes[at++] = TAG_SECONDS;
    at = writeVarint(bytes, at, seconds);
  }
  if (nanos !== 0) {
    bytes[at++] = TAG_NANOS;
    at = writeVarint(bytes, at, nanos);
  }
  return at;
}

function timestampLength(seconds: number, nanos: number): number {
  return (
    (seconds === 0 ? 0 : 1 + varintLength(seconds)) + (nanos === 0 ? 0 : 1 + varintLength(nanos))
  );
}

/** The items of a canonical event, as views into its bytes. */
export function* itemsOf(event: EventBytes): Generator<ItemBytes, void, undefined> {
  const { bytes, end } = event;
  let at = event.itemsStart;
  while (at < end) {
    reader.position = at + 1;
    const length = reader.read(bytes, end);
    const itemStart = reader.position;
    const itemEnd = itemStart + length;
    reader.position = itemStart + 1;
    const keyLength = reader.read(bytes, itemEnd);
    const keyStart = reader.position;
    const keyEnd = keyStart + keyLength;
    let valueStart = keyEnd;
    if (keyEnd < itemEnd) {
      reader.position = keyEnd + 1;
      reader.read(bytes, itemEnd);
      valueStart = reader.position;
    }
    at = itemEnd;
    yield { key: bytes.subarray(keyStart, keyEnd), value: bytes.subarray(valueStart, itemEnd) };
  }
}

function fieldLength(length: number): number {
  return 1 + varintLength(length) + length;
}

function itemLength(item: ItemBytes): number {
  return (
    fieldLength(item.key.length) + (item.value.length === 0 ? 0 : fieldLength(item.value.length))
  );
}

function writeHeader(bytes: Uint8Array, at: number, tag: number, length: number): number {
  bytes[at] = tag;
  return writeVarint(bytes, at + 1, length);
}
