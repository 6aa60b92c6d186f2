/**
 * Encodes the events of a JSON write request one behind another into one buffer, as canonical event
 * bytes. They then pass the same checks as events that came as protobuf.
 *
 * A wrong shape of the request (an unknown field, a number for a string, an invalid time) refuses
 * the whole request, and the answer lists all such problems; a fault of one event fails that event
 * alone.
 */
import type { Problems } from "../lib/problems.ts";
import {
  TAG_ID,
  TAG_ITEM,
  TAG_ITEM_KEY,
  TAG_ITEM_VALUE,
  TAG_SERIES,
  TIME_MICROS_MAX,
  writeTimeField,
} from "./event-record.ts";
import type { EventBytes } from "./event-record.ts";
import { parseTime } from "./time-text.ts";
import { validateEvent } from "./validate-event.ts";
import type { EventProblem } from "./validate-event.ts";
import type { EventLimits } from "./event-limits.ts";
import { varintLength, writeVarint } from "./varint.ts";

/**
 * A loop copies shorter texts. A call into native code costs about as much as this many of its
 * steps.
 */
const NATIVE_FROM = 64;

const BASE64_VALUES = base64Values();
/** Node's decoder skips characters that are not base64 instead of refusing them. */
const NOT_BASE64 = /[^A-Za-z0-9+/=_-]/;

/** Never shown: the request is refused with problems of its own. */
const NOT_AN_ITEM: EventProblem = { problem: "EVENT_INVALID", message: "" };

export class EventEncoder {
  readonly #bytes: Buffer;
  readonly #limits: EventLimits;
  readonly #problems: Problems;
  #at = 0;
  /** The members seen in the event's objects, and whether all of them are known. */
  #members = 0;
  #allKnown = true;

  constructor(bytesMax: number, limits: EventLimits, problems: Problems) {
    this.#bytes = Buffer.allocUnsafe(bytesMax);
    this.#limits = limits;
    this.#problems = problems;
  }

  /**
   * `members`: how many members the event's text has, over all its objects. The result for an event
   * of the wrong shape is never used, because the request is refused.
   */
  encode(event: unknown, index: number, members: number): EventBytes | EventProblem {
    if (!isObject(event)) return this.#refuse(index, "", "must be an object");
    this.#members = 0;
    this.#allKnown = true;
    let series: unknown;
    let time: unknown;
    let id: unknown;
    let items: unknown;
    for (const key in event) {
      this.#members++;
      const value = event[key];
      switch (key) {
        case "timeSeriesId":
        case "time_series_id":
          if (series !== undefined) this.#twice(index, key);
          series = value;
          break;
        case "eventTime":
        case "event_time":
          if (time !== undefined) this.#twice(index, key);
          time = value;
          break;
        case "eventId":
        case "event_id":
          if (id !== undefined) this.#twice(index, key);
          id = value;
          break;
        case "eventItems":
        case "event_items":
          if (items !== undefined) this.#twice(index, key);
          items = value;
          break;
        default:
          this.#allKnown = false;
          this.#problems.add(
            `unknown field events[${index}].${shortened(key)}; known are timeSeriesId, eventTime, eventId, eventItems`,
          );
      }
    }
    const start = this.#at;
    // Checks all four, whatever is wrong with the first: the answer names every problem at once.
    const ofSeries = this.#encodeText(TAG_SERIES, series, index, "timeSeriesId");
    const ofTime = this.#encodeTime(time, index);
    const ofId = this.#encodeText(TAG_ID, id, index, "eventId");
    const ofItems = this.#encodeItems(items, index);
    const problem = ofSeries ?? ofTime ?? ofId ?? ofItems;
    // JSON.parse keeps the last of two members with one name; the sender may have meant either.
    if (problem === undefined && this.#allKnown && this.#members !== members) {
      return this.#refuse(index, "", "has a field twice");
    }
    const taken = problem ?? validateEvent(this.#bytes, start, this.#at, this.#limits);
    if ("problem" in taken) this.#at = start;
    return taken;
  }

  #encodeText(tag: number, text: unknown, index: number, field: string): EventProblem | undefined {
    if (text === undefined || text === null || text === "") return undefined;
    if (typeof text !== "string") return this.#refuse(index, `.${field}`, "must be a string");
    const length = utf8Length(text);
    if (length < 0) return invalid(`${field} is not valid UTF-8: it has half of a surrogate pair`);
    this.#writeText(tag, text, length);
    return undefined;
  }

  #encodeTime(time: unknown, index: number): EventProblem | undefined {
    if (time === undefined || time === null) return undefined;
    const micros = typeof time === "string" ? parseTime(time) : undefined;
    if (micros === undefined) {
      const given = typeof time === "string" ? quoted(time) : `a ${typeof time}`;
      return this.#refuse(
        index,
        ".eventTime",
        `must be a time such as "2026-11-15T10:00:00.000001Z", not ${given}`,
      );
    }
    if (micros === "too fine") {
      return invalid(
        "eventTime has nanoseconds, and times have microseconds: truncate it before sending",
      );
    }
    if (micros < 0) return { problem: "EVENT_TOO_OLD", message: "eventTime is before 1970" };
    if (micros > TIME_MICROS_MAX) {
      return { problem: "EVENT_TOO_NEW", message: "eventTime is after the year 2255" };
    }
    this.#at = writeTimeField(this.#bytes, this.#at, micros);
    return undefined;
  }

  #encodeItems(items: unknown, index: number): EventProblem | undefined {
    if (items === undefined || items === null) return undefined;
    if (!Array.isArray(items)) return this.#refuse(index, ".eventItems", "must be an array");
    let first: EventProblem | undefined;
    for (let number = 0; number < items.length; number++) {
      const problem = this.#encodeItem(items[number], index, number);
      first ??= problem;
    }
    return first;
  }

  #encodeItem(item: unknown, index: number, number: number): EventProblem | undefined {
    if (!isObject(item)) {
      return this.#refuse(index, `.eventItems[${number}]`, "must be an object");
    }
    let key: unknown;
    let value: unknown;
    for (const name in item) {
      this.#members++;
      if (name === "eventItemKey" || name === "event_item_key") {
        if (key !== undefined) this.#twice(index, `eventItems[${number}].${name}`);
        key = item[name];
      } else if (name === "eventItemValue" || name === "event_item_value") {
        if (value !== undefined) this.#twice(index, `eventItems[${number}].${name}`);
        value = item[name];
      } else {
        this.#allKnown = false;
        this.#problems.add(
          `unknown field events[${index}].eventItems[${number}].${shortened(name)}; known are eventItemKey, eventItemValue`,
        );
      }
    }
    const keyText = key ?? "";
    const valueText = value ?? "";
    const valueLength = typeof valueText === "string" ? base64Length(valueText) : -1;
    if (typeof valueText !== "string" || valueLength < 0) {
      this.#refuse(index, `.eventItems[${number}].eventItemValue`, "must be base64");
    }
    if (typeof keyText !== "string") {
      return this.#refuse(index, `.eventItems[${number}].eventItemKey`, "must be a string");
    }
    // Already reported above, with the other problems.
    if (typeof valueText !== "string" || valueLength < 0) return NOT_AN_ITEM;
    const keyLength = utf8Length(keyText);
    if (keyLength < 0) {
      return invalid("an eventItemKey is not valid UTF-8: it has half of a surrogate pair");
    }
    const length =
      (keyLength === 0 ? 0 : fieldLength(keyLength)) +
      (valueLength === 0 ? 0 : fieldLength(valueLength));
    this.#bytes[this.#at] = TAG_ITEM;
    this.#at = writeVarint(this.#bytes, this.#at + 1, length);
    if (keyLength > 0) this.#writeText(TAG_ITEM_KEY, keyText, keyLength);
    if (valueLength > 0 && !this.#writeBase64(valueText, valueLength)) {
      return this.#refuse(index, `.eventItems[${number}].eventItemValue`, "must be base64");
    }
    return undefined;
  }

  #writeText(tag: number, text: string, length: number): void {
    const bytes = this.#bytes;
    bytes[this.#at] = tag;
    const at = writeVarint(bytes, this.#at + 1, length);
    if (length === text.length && length < NATIVE_FROM) {
      for (let i = 0; i < length; i++) bytes[at + i] = text.charCodeAt(i);
    } else {
      bytes.write(text, at, "utf8");
    }
    this.#at = at + length;
  }

  #writeBase64(text: string, length: number): boolean {
    const bytes = this.#bytes;
    bytes[this.#at] = TAG_ITEM_VALUE;
    const at = writeVarint(bytes, this.#at + 1, length);
    this.#at = at + length;
    if (text.length >= NATIVE_FROM) {
      return !NOT_BASE64.test(text) && bytes.write(text, at, length, "base64") === length;
    }
    return decodeBase64(text, bytes, at, at + length);
  }

  #refuse(index: number, path: string, what: string): EventProblem {
    const message = `events[${index}]${path} ${what}`;
    this.#problems.add(message);
    return invalid(message);
  }

  #twice(index: number, field: string): void {
    this.#problems.add(`events[${index}].${field} is given in both spellings; keep one`);
  }
}

/** Bytes of a text as UTF-8; -1 if it has half of a surrogate pair, which UTF-8 cannot hold. */
function utf8Length(text: string): number {
  const length = text.length;
  if (length >= NATIVE_FROM) return wellFormedLength(text);
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) >= 0x80) return wellFormedLength(text);
  return length;
}

function wellFormedLength(text: string): number {
  return text.isWellFormed() ? Buffer.byteLength(text) : -1;
}

/**
 * Bytes that base64 of this length stands for, with or without padding; -1 if no base64 has this
 * length.
 */
function base64Length(text: string): number {
  let length = text.length;
  if (length > 0 && text.charCodeAt(length - 1) === 0x3d) {
    if (length % 4 !== 0) return -1;
    length--;
    if (text.charCodeAt(length - 1) === 0x3d) length--;
  }
  const rest = length % 4;
  if (rest === 1) return -1;
  return ((length - rest) / 4) * 3 + (rest === 0 ? 0 : rest - 1);
}

/** Accepts both alphabets. False if a character belongs to neither. */
function decodeBase64(text: string, bytes: Uint8Array, start: number, end: number): boolean {
  let bits = 0;
  let held = 0;
  let seen = 0;
  let at = start;
  for (let i = 0; at < end; i++) {
    const code = text.charCodeAt(i);
    const value = code < 128 ? (BASE64_VALUES[code] as number) : 0xff;
    seen |= value;
    bits = ((bits << 6) | value) & 0xffff;
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes[at++] = bits >> held;
    }
  }
  return seen < 64;
}

function base64Values(): Uint8Array {
  const values = new Uint8Array(128).fill(0xff);
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  for (let i = 0; i < alphabet.length; i++) values[alphabet.charCodeAt(i)] = i;
  for (const [character, value] of [
    ["+", 62],
    ["-", 62],
    ["/", 63],
    ["_", 63],
  ] as const) {
    values[character.charCodeAt(0)] = value;
  }
  return values;
}

function fieldLength(length: number): number {
  return 1 + varintLength(length) + length;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(message: string): EventProblem {
  return { problem: "EVENT_INVALID", message };
}

/** A caller's text, short enough to quote in a message. */
function quoted(text: string): string {
  return JSON.stringify(shortened(text));
}

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
