/**
 * Events as a program has them, and as the wire has them.
 *
 * Times are RFC 3339 text (or a Date in a write), so that no microsecond is lost. Values are bytes;
 * an event that was read decodes them on demand.
 */
import { fromBase64, toBase64 } from "./base64.ts";
import type { EventItemJson, EventRecordJson } from "./messages.ts";

/** A text is sent as its UTF-8. */
export type ItemValue = Uint8Array | string;

export interface NewEvent {
  readonly timeSeriesId: string;
  /** A Date has milliseconds; text may have microseconds. */
  readonly eventTime: Date | string;
  readonly eventId: string;
  readonly items?: Readonly<Record<string, ItemValue>> | ReadonlyMap<string, ItemValue>;
}

/**
 * An event that is already the JSON of an `EventRecord`, as UTF-8. The client sends it unchanged.
 */
export interface JsonEvent {
  readonly json: Uint8Array;
}

export function encodeEvent(event: NewEvent): EventRecordJson {
  const eventItems: EventItemJson[] = [];
  for (const [key, value] of entriesOf(event.items ?? {})) {
    eventItems.push({ eventItemKey: key, eventItemValue: toBase64(value) });
  }
  const { timeSeriesId, eventId } = event;
  return { timeSeriesId, eventTime: timeText(event.eventTime), eventId, eventItems };
}

function entriesOf(items: NonNullable<NewEvent["items"]>): Iterable<[string, ItemValue]> {
  return isMap(items) ? items : Object.entries(items);
}

function isMap(items: NonNullable<NewEvent["items"]>): items is ReadonlyMap<string, ItemValue> {
  return items instanceof Map;
}

export function timeText(time: Date | string): string {
  return typeof time === "string" ? time : time.toISOString();
}

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
  readonly #base64: string;
  #bytes: Uint8Array | undefined;

  constructor(item: EventItemJson) {
    this.key = item.eventItemKey;
    this.#base64 = item.eventItemValue;
  }

  get value(): Uint8Array {
    return (this.#bytes ??= fromBase64(this.#base64));
  }

  /** The value read as UTF-8; what is not valid becomes U+FFFD. */
  get text(): string {
    return decoder.decode(this.value);
  }

  toJSON(): EventItemJson {
    return { eventItemKey: this.key, eventItemValue: this.#base64 };
  }

  [INSPECT](depth: number, options: object, inspect: Inspect): string {
    if (depth < 0) return "[ReceivedItem]";
    return `ReceivedItem ${inspect({ key: this.key, value: textOrBytes(this.value) }, options)}`;
  }
}

/**
 * An event that was read. `JSON.stringify` gives it back exactly as the API answered; `console.log`
 * in Node shows it with its values as text.
 */
export class ReceivedEvent {
  readonly #record: EventRecordJson;
  #items: readonly ReceivedItem[] | undefined;

  constructor(record: EventRecordJson) {
    this.#record = record;
  }

  get timeSeriesId(): string {
    return this.#record.timeSeriesId;
  }

  /** RFC 3339, with microseconds if it has any. */
  get eventTime(): string {
    return this.#record.eventTime;
  }

  /** Microseconds since 1970: exact, unlike a Date. */
  get timeMicros(): number {
    const [, base = "", fraction = ""] = SERVER_TIME.exec(this.#record.eventTime) ?? [];
    const millis = Date.parse(`${base}Z`);
    if (Number.isNaN(millis)) throw new RangeError(`not a time: ${this.#record.eventTime}`);
    return millis * 1000 + Number(fraction.padEnd(6, "0"));
  }

  get eventId(): string {
    return this.#record.eventId;
  }

  get items(): readonly ReceivedItem[] {
    return (this.#items ??= this.#record.eventItems.map((item) => new ReceivedItem(item)));
  }

  /** The value of one item, or undefined if there is none of this key. */
  get(key: string): Uint8Array | undefined {
    return this.items.find((item) => item.key === key)?.value;
  }

  /** The value of one item read as UTF-8, or undefined if there is none of this key. */
  text(key: string): string | undefined {
    return this.items.find((item) => item.key === key)?.text;
  }

  /** A plain object that can be written again. A value is text if it is valid UTF-8, else bytes. */
  toObject(): PlainEvent {
    const { timeSeriesId, eventTime, eventId } = this;
    const items = this.items.map(({ key, value }) => [key, textOrBytes(value)] as const);
    return { timeSeriesId, eventTime, eventId, items: Object.fromEntries(items) };
  }

  toJSON(): EventRecordJson {
    return this.#record;
  }

  [INSPECT](depth: number, options: object, inspect: Inspect): string {
    if (depth < 0) return "[ReceivedEvent]";
    return `ReceivedEvent ${inspect(this.toObject(), options)}`;
  }
}

function textOrBytes(value: Uint8Array): ItemValue {
  try {
    return strictDecoder.decode(value);
  } catch {
    return value; // Not UTF-8.
  }
}

/** A time as the server writes it: in UTC, with at most microseconds. */
const SERVER_TIME = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?Z$/;

// A byte order mark belongs to the value like every other character.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const strictDecoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
