/**
 * Encodes writes and reads as the server stores and expects them: an event in its canonical
 * encoding, so that the server takes its bytes as they are.
 *
 * What cannot be encoded at all, such as a time that is not one, is refused here, as the server
 * refuses it in JSON: REQUEST_INVALID with every problem, and nothing is sent. All else is the
 * server's to judge.
 */
import { BraidError } from "./braid-error.ts";
import type { ReadQuery } from "./read-query.ts";
import type { ItemValue, NewEvent } from "./events.ts";
import { MessageWriter } from "./message-writer.ts";
import { parseTime } from "./time-text.ts";
import type { ParsedTime } from "./time-text.ts";

/** A `WriteEventRecordsRequest`, or that of a durable write, which has the same fields. */
export function encodeWrite(namespace: string, events: readonly NewEvent[]): Body {
  const problems: string[] = [];
  writer.cutTo(0);
  for (let i = events.length - 1; i >= 0; i--) {
    writeFrame(events[i] as NewEvent, (what) => problems.push(`events[${i}]${what}`));
  }
  refuse(problems.toReversed());
  writer.text(TAG_NAMESPACE, namespace);
  return writer.take();
}

/** One event as such a request has it. A request is its namespace followed by such frames. */
export function encodeFrame(event: NewEvent): Body {
  const problems: string[] = [];
  writer.cutTo(0);
  writeFrame(event, (what) => problems.push(`the event${what}`));
  refuse(problems);
  return writer.take();
}

/** What such frames stand behind. */
export function encodeNamespace(namespace: string): Body {
  writer.cutTo(0);
  writer.text(TAG_NAMESPACE, namespace);
  return writer.take();
}

/** An `EventRecord` alone. */
export function encodeEvent(event: NewEvent): Body {
  const problems: string[] = [];
  writer.cutTo(0);
  writeEvent(event, (what) => problems.push(`the event${what}`));
  refuse(problems);
  return writer.take();
}

/** A `ReadEventRecordsRequest`. */
export function encodeRead(namespace: string, query: ReadQuery, pageToken: string): Body {
  const problems: string[] = [];
  const start = intervalTime("start", query.start, problems);
  const end = intervalTime("end", query.end, problems);
  const { order, pageSize = 0, totalRecordLimit = 0, allowPartial = false } = query;
  const orderNumber = order === undefined ? 0 : ORDERS.indexOf(order) + 1;
  if (order !== undefined && orderNumber === 0) {
    problems.push(`order must be one of ${ORDERS.join(", ")}`);
  }
  if (!isWhole(pageSize, 2 ** 32 - 1))
    problems.push("pageSize must be a whole number, not below 0");
  if (!isWhole(totalRecordLimit, Number.MAX_SAFE_INTEGER)) {
    problems.push("totalRecordLimit must be a whole number, not below 0");
  }
  refuse(problems);

  writer.cutTo(0);
  writer.number(TAG_ALLOW_PARTIAL, allowPartial ? 1 : 0);
  writer.text(TAG_PAGE_TOKEN, pageToken);
  writer.number(TAG_TOTAL_RECORD_LIMIT, totalRecordLimit);
  writer.number(TAG_PAGE_SIZE, pageSize);
  writer.number(TAG_ORDER, orderNumber);
  for (const [key, value] of Object.entries(query.filters ?? {}).toReversed()) {
    const before = writer.length;
    writer.value(TAG_ITEM_VALUE, value);
    writer.text(TAG_ITEM_KEY, key);
    writer.head(TAG_EVENT_FILTERS, before);
  }
  const before = writer.length;
  writer.time(TAG_END, end);
  writer.time(TAG_START, start);
  writer.head(TAG_TIME_INTERVAL, before);
  writer.text(TAG_QUERY_SERIES, query.timeSeriesId);
  writer.text(TAG_NAMESPACE, namespace);
  return writer.take();
}

type Body = Uint8Array<ArrayBuffer>;
type Problem = (what: string) => void;

/** One for all requests: nothing waits between its first byte and `take`. */
const writer = new MessageWriter();
const time: ParsedTime = { seconds: 0, nanos: 0 };

function writeFrame(event: NewEvent, problem: Problem): void {
  const before = writer.length;
  writeEvent(event, problem);
  writer.head(TAG_EVENTS, before);
}

function writeEvent(event: NewEvent, problem: Problem): void {
  const { timeSeriesId, eventTime, eventId, items } = event;
  if (items !== undefined) writeItems(items, problem);
  writeId(TAG_ID, eventId, "eventId", problem);
  if (parseTime(eventTime, time)) writer.time(TAG_TIME, time);
  else problem(`.eventTime must be a Date or a time such as 2026-11-15T10:00:00.000001Z`);
  writeId(TAG_SERIES, timeSeriesId, "timeSeriesId", problem);
}

/** A missing id is left out: the server refuses that event alone. */
function writeId(tag: number, id: unknown, name: string, problem: Problem): void {
  if (typeof id === "string") writer.text(tag, id);
  else if (id !== undefined) problem(`.${name} must be a string`);
}

function writeItems(items: NonNullable<NewEvent["items"]>, problem: Problem): void {
  // Not the entries of an object, which are an array for each item.
  const map = items instanceof Map ? items : undefined;
  const keys = map === undefined ? Object.keys(items) : [...map.keys()];
  for (let i = keys.length - 1; i >= 0; i--) {
    const key = keys[i] as string;
    const value: unknown =
      map === undefined ? (items as Record<string, ItemValue>)[key] : map.get(key);
    const before = writer.length;
    if (typeof value === "string" || value instanceof Uint8Array) {
      writer.value(TAG_ITEM_VALUE, value);
    } else {
      problem(`.items: the value of ${JSON.stringify(key)} must be text or bytes`);
    }
    writer.text(TAG_ITEM_KEY, key);
    writer.head(TAG_ITEM, before);
  }
}

function intervalTime(name: string, given: Date | string, problems: string[]): ParsedTime {
  const parsed = { seconds: 0, nanos: 0 };
  if (!parseTime(given, parsed)) {
    problems.push(`${name} must be a Date or a time such as 2026-11-15T10:00:00Z`);
  }
  return parsed;
}

function isWhole(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= max;
}

function refuse(problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw new BraidError("REQUEST_INVALID", problems.join("; "), { details: { problems } });
}

const ORDERS = ["NEWEST_FIRST", "OLDEST_FIRST"];

const TAG_NAMESPACE = 0x0a;
const TAG_EVENTS = 0x12;

const TAG_SERIES = 0x0a;
const TAG_TIME = 0x12;
const TAG_ID = 0x1a;
const TAG_ITEM = 0x22;
const TAG_ITEM_KEY = 0x0a;
const TAG_ITEM_VALUE = 0x12;

const TAG_QUERY_SERIES = 0x12;
const TAG_TIME_INTERVAL = 0x1a;
const TAG_START = 0x0a;
const TAG_END = 0x12;
const TAG_EVENT_FILTERS = 0x22;
const TAG_ORDER = 0x28;
const TAG_PAGE_SIZE = 0x30;
const TAG_TOTAL_RECORD_LIMIT = 0x38;
const TAG_PAGE_TOKEN = 0x42;
const TAG_ALLOW_PARTIAL = 0x48;
