/**
 * Events that were read: views on the bytes of their page.
 *
 * `receivedEvent` checks the structure of every event once, when the page arrives. After that
 * nothing can fail: time, ids and items are decoded when a program asks for them. Texts and the
 * list of items are kept once they are decoded.
 */
import { toBase64 } from "./base64.ts";
import type { ItemValue, NewEvent } from "./events.ts";
import { malformed, MessageReader } from "./message-reader.ts";
import type { EventItemJson, EventRecordJson } from "./messages.ts";
import { formatMicros } from "./time-text.ts";
import { decodeRepeated, decodeText } from "./utf8.ts";

/** An event that was read, as a plain object. */
export interface PlainEvent extends NewEvent {
  readonly eventTime: string;
  readonly items: Readonly<Record<string, ItemValue>>;
}

/** What Node's console looks for: private fields would leave it nothing to show. */
const INSPECT: unique symbol = Symbol.for("nodejs.util.inspect.custom");
type Inspect = (value: unknown, options: object) => string;

/** One item of an event that was read. */
export class ReceivedItem {
  readonly key: string;
  readonly #bytes: Uint8Array;
  readonly #start: number;
  readonly #end: number;

  /** The value is `bytes[start..end)`. */
  constructor(key: string, bytes: Uint8Array, start: number, end: number) {
    this.key = key;
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
  }

  /** A view on the bytes of the page: copy it before you change it. */
  get value(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  /** The value read as UTF-8; what is not valid becomes U+FFFD. */
  get text(): string {
    return decodeText(this.#bytes, this.#start, this.#end);
  }

  toJSON(): EventItemJson {
    return { eventItemKey: this.key, eventItemValue: toBase64(this.value) };
  }

  [INSPECT](depth: number, options: object, inspect: Inspect): string {
    if (depth < 0) return "[ReceivedItem]";
    return `ReceivedItem ${inspect({ key: this.key, value: textOrBytes(this.value) }, options)}`;
  }
}

/**
 * An event that was read. `JSON.stringify` gives it exactly as the API answers in JSON;
 * `console.log` in Node shows it with its values as text.
 *
 * It holds the bytes of its whole page, which are shared by all events of the page. A program that
 * keeps single events for long keeps `event.copy()` instead.
 */
export class ReceivedEvent {
  readonly #bytes: Uint8Array;
  readonly #start: number;
  readonly #idStart: number;
  readonly #itemsStart: number;
  readonly #end: number;
  #id: string | undefined;
  #items: readonly ReceivedItem[] | undefined;

  /** `bytes[start..end)` is an event whose structure `receivedEvent` has checked. */
  constructor(bytes: Uint8Array, start: number, idStart: number, itemsStart: number, end: number) {
    this.#bytes = bytes;
    this.#start = start;
    this.#idStart = idStart;
    this.#itemsStart = itemsStart;
    this.#end = end;
    this.#id = undefined;
    this.#items = undefined;
  }

  get timeSeriesId(): string {
    const start = contentOf(this.#bytes, this.#start, this.#end);
    return decodeRepeated(this.#bytes, start, position);
  }

  /** RFC 3339, with microseconds if it has any. */
  get eventTime(): string {
    return formatMicros(this.timeMicros);
  }

  /** Microseconds since 1970: exact, unlike a Date. */
  get timeMicros(): number {
    contentOf(this.#bytes, this.#start, this.#end);
    const start = contentOf(this.#bytes, position, this.#end);
    return microsOf(this.#bytes, start, position);
  }

  get eventId(): string {
    if (this.#id !== undefined) return this.#id;
    return (this.#id = decodeText(this.#bytes, this.#idStart, this.#itemsStart));
  }

  get items(): readonly ReceivedItem[] {
    return (this.#items ??= itemsOf(this.#bytes, this.#itemsStart, this.#end));
  }

  /** The value of one item, or undefined if there is none of this key. */
  get(key: string): Uint8Array | undefined {
    return this.#find(key)?.value;
  }

  /** The value of one item read as UTF-8, or undefined if there is none of this key. */
  text(key: string): string | undefined {
    return this.#find(key)?.text;
  }

  /** The same event with bytes of its own, without the rest of its page. */
  copy(): ReceivedEvent {
    const start = this.#start;
    return new ReceivedEvent(
      this.#bytes.slice(start, this.#end),
      0,
      this.#idStart - start,
      this.#itemsStart - start,
      this.#end - start,
    );
  }

  /** A plain object that can be written again. A value is text if it is valid UTF-8, else bytes. */
  toObject(): PlainEvent {
    const { timeSeriesId, eventTime, eventId } = this;
    const items = this.items.map(({ key, value }) => [key, textOrBytes(value)] as const);
    return { timeSeriesId, eventTime, eventId, items: Object.fromEntries(items) };
  }

  toJSON(): EventRecordJson {
    const { timeSeriesId, eventTime, eventId } = this;
    return {
      timeSeriesId,
      eventTime,
      eventId,
      eventItems: this.items.map((item) => item.toJSON()),
    };
  }

  [INSPECT](depth: number, options: object, inspect: Inspect): string {
    if (depth < 0) return "[ReceivedEvent]";
    return `ReceivedEvent ${inspect(this.toObject(), options)}`;
  }

  #find(key: string): ReceivedItem | undefined {
    for (const item of this.items) if (item.key === key) return item;
    return undefined;
  }
}

/** The event `bytes[start..end)`. Throws ANSWER_INVALID if it is not in the canonical encoding. */
export function receivedEvent(bytes: Uint8Array, start: number, end: number): ReceivedEvent {
  checkTag(bytes, start, TAG_SERIES);
  contentOf(bytes, start, end);
  checkTag(bytes, position, TAG_TIME);
  const timeStart = contentOf(bytes, position, end);
  const timeEnd = position;
  if (!Number.isSafeInteger(microsOf(bytes, timeStart, timeEnd)))
    throw malformed("a time has no whole microseconds");
  checkTag(bytes, timeEnd, TAG_ID);
  const idStart = contentOf(bytes, timeEnd, end);
  const itemsStart = position;
  for (let at = itemsStart; at < end; at = position) {
    if (bytes[at] === TAG_ITEM) checkItem(bytes, contentOf(bytes, at, end), position);
    else skipUnknown(bytes, at, end, EVENT_FIELDS);
  }
  return new ReceivedEvent(bytes, start, idStart, itemsStart, end);
}

/** Leaves `position` at the end of the item. */
function checkItem(bytes: Uint8Array, start: number, end: number): void {
  checkTag(bytes, start, TAG_ITEM_KEY);
  contentOf(bytes, start, end);
  if (position < end && bytes[position] === TAG_ITEM_VALUE) contentOf(bytes, position, end);
  while (position < end) skipUnknown(bytes, position, end, ITEM_FIELDS);
}

/** The items of an event that `receivedEvent` has checked. */
function itemsOf(bytes: Uint8Array, itemsStart: number, end: number): readonly ReceivedItem[] {
  const items: ReceivedItem[] = [];
  for (let at = itemsStart; at < end; at = position) {
    if (bytes[at] !== TAG_ITEM) {
      skipUnknown(bytes, at, end, EVENT_FIELDS);
      continue;
    }
    const start = contentOf(bytes, at, end);
    const itemEnd = position;
    const keyStart = contentOf(bytes, start, itemEnd);
    const keyEnd = position;
    const hasValue = keyEnd < itemEnd && bytes[keyEnd] === TAG_ITEM_VALUE;
    const valueStart = hasValue ? contentOf(bytes, keyEnd, itemEnd) : keyEnd;
    const key = decodeRepeated(bytes, keyStart, keyEnd);
    items.push(new ReceivedItem(key, bytes, valueStart, position));
    position = itemEnd;
  }
  return items;
}

/** Where the last field read ends: returning pairs would cost an object for each field. */
let position = 0;

/**
 * Where the content of the field at `at` begins, whose tag has one byte and whose content has a
 * length. It ends at `position`.
 */
function contentOf(bytes: Uint8Array, at: number, end: number): number {
  let length = bytes[at + 1] as number;
  let start = at + 2;
  if (length >= 0x80) {
    length &= 0x7f;
    for (let scale = 128; ; scale *= 128) {
      const byte = bytes[start++] as number;
      length += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
      if (scale >= 2 ** 28 || start >= end) throw malformed("a length does not end");
    }
  }
  // Also if the bytes end before: then the length is not a number.
  if (!(start + length <= end)) throw malformed("a field ends behind its message");
  position = start + length;
  return start;
}

function checkTag(bytes: Uint8Array, at: number, tag: number): void {
  if (bytes[at] !== tag) throw malformed("an event is not in the canonical encoding");
}

/** Skips a field that a newer server sends; the known ones stand in their place or not at all. */
function skipUnknown(bytes: Uint8Array, at: number, end: number, known: number): void {
  const reader = new MessageReader(bytes, at, end);
  const field = Math.floor(reader.next() / 8);
  if (field <= known) throw malformed("an event is not in the canonical encoding");
  position = reader.at;
}

/** Microseconds of the `Timestamp` in `bytes[start..end)`. */
function microsOf(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  let seconds = 0;
  let nanos = 0;
  if (bytes[at] === TAG_SECONDS && at < end) {
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[++at] as number;
      seconds += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
      if (scale === SCALE_MAX) return rareMicrosOf(bytes, start, end);
    }
    at++;
  }
  if (bytes[at] === TAG_NANOS && at < end) {
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[++at] as number;
      nanos += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
      if (scale === SCALE_MAX) return rareMicrosOf(bytes, start, end);
    }
    at++;
  }
  return at === end ? seconds * 1_000_000 + nanos / 1000 : rareMicrosOf(bytes, start, end);
}

/** Seconds of at most six bytes: until the year 141,000. */
const SCALE_MAX = 128 ** 5;

/** For times before 1970, and for what is no time at all. */
function rareMicrosOf(bytes: Uint8Array, start: number, end: number): number {
  const reader = new MessageReader(bytes, start, end);
  let seconds = 0;
  let nanos = 0;
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === TAG_SECONDS) seconds = reader.value;
    else if (tag === TAG_NANOS) nanos = reader.value;
  }
  return seconds * 1_000_000 + nanos / 1000;
}

const TAG_SERIES = 0x0a;
const TAG_TIME = 0x12;
const TAG_ID = 0x1a;
const TAG_ITEM = 0x22;
const EVENT_FIELDS = 4;
const TAG_ITEM_KEY = 0x0a;
const TAG_ITEM_VALUE = 0x12;
const ITEM_FIELDS = 2;
const TAG_SECONDS = 0x08;
const TAG_NANOS = 0x10;

function textOrBytes(value: Uint8Array): ItemValue {
  try {
    return strictDecoder.decode(value);
  } catch {
    return value; // Not UTF-8.
  }
}

// A byte order mark belongs to the value like every other character.
const strictDecoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
