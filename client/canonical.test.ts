/**
 * The client's encoder and views against the server's own code: what one writes the other reads,
 * event by event and byte for byte.
 */
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import { create, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { EventRecordSchema } from "../src/gen/braid/v1/event_pb.js";
import type { EventRecord } from "../src/gen/braid/v1/event_pb.js";
import {
  ReadEventRecordsRequestSchema,
  ReadEventRecordsResponseSchema,
  WriteEventRecordsSyncResponseSchema,
} from "../src/gen/braid/v1/time_series_service_pb.js";
import { CONTRACT_EVENT_LIMITS } from "../src/wire/event-limits.ts";
import { encodeEvent as encodeOnServer, itemsOf, locateEvent } from "../src/wire/event-record.ts";
import { formatTime, parseTime as parseOnServer } from "../src/wire/time-text.ts";
import { parseWriteRequest } from "../src/wire/write-request.ts";
import { BraidError } from "./braid-error.ts";
import { decodePage, decodeWritten } from "./decode-answer.ts";
import { encodeEvent, encodeRead, encodeWrite } from "./encode-request.ts";
import type { ItemValue, NewEvent } from "./events.ts";
import { receivedEvent } from "./received-event.ts";
import type { ReceivedEvent } from "./received-event.ts";
import { formatMicros, parseTime } from "./time-text.ts";
import { decodeRepeated, decodeText } from "./utf8.ts";

const TIME_MAX = Number.MAX_SAFE_INTEGER; // 2255
const text = (maxLength: number): fc.Arbitrary<string> =>
  fc.oneof(
    fc.string({ minLength: 1, maxLength }),
    fc.string({ minLength: 1, maxLength, unit: "binary" }),
    fc.constantFrom("ä", "漢字", "😀", "\uFEFFa", "a\0b", "x".repeat(70), "é".repeat(70)),
  );
const value: fc.Arbitrary<ItemValue> = fc.oneof(
  fc.constantFrom<ItemValue>("", new Uint8Array()),
  fc.string({ maxLength: 100 }),
  fc.uint8Array({ maxLength: 300 }),
);
const micros = fc.oneof(
  fc.integer({ min: 0, max: TIME_MAX }),
  fc.constantFrom(0, 1, 999_999, 1_000_000, TIME_MAX),
);
const items = fc
  .array(fc.tuple(text(20), value), { maxLength: 12 })
  .map((entries) => new Map(entries));
const wellFormed = (event: {
  timeSeriesId: string;
  eventId: string;
  items: Map<string, unknown>;
}): boolean =>
  [event.timeSeriesId, event.eventId, ...event.items.keys()].every(
    (each) => each.isWellFormed() && Buffer.byteLength(each) <= 256,
  );
const event = fc
  .record({ timeSeriesId: text(100), micros, eventId: text(60), items })
  .filter(wellFormed);

function newEvent({
  micros: time,
  ...rest
}: { micros: number } & Omit<NewEvent, "eventTime">): NewEvent {
  return { ...rest, eventTime: formatTime(time) };
}

const bytesOf = (each: ItemValue): Uint8Array =>
  new Uint8Array(typeof each === "string" ? Buffer.from(each) : each);

test("the server reads exactly the events that the client encodes, without rewriting them", async () => {
  const property = fc.asyncProperty(fc.array(event, { maxLength: 5 }), async (events) => {
    const body = encodeWrite("plays", events.map(newEvent));
    const batch = await parseWriteRequest(body, CONTRACT_EVENT_LIMITS);
    equal(batch.namespace, "plays");
    equal(batch.events.length, events.length);
    for (const [i, sent] of events.entries()) {
      const read = batch.events[i];
      ok(read !== undefined && !("problem" in read), JSON.stringify(read));
      equal(read.bytes, body, "the bytes as they came");
      equal(read.time, sent.micros);
      const { bytes } = read;
      const part = (from: number, to: number): string =>
        Buffer.from(bytes.subarray(from, to)).toString();
      equal(part(read.seriesStart, read.seriesEnd), sent.timeSeriesId);
      equal(part(read.idStart, read.idEnd), sent.eventId);
      deepEqual(
        [...itemsOf(read)].map((item) => [
          Buffer.from(item.key).toString(),
          new Uint8Array(item.value),
        ]),
        [...sent.items].map(([key, held]) => [key, bytesOf(held)]),
      );
    }
  });
  await fc.assert(property, { numRuns: 500 });
});

test("the client reads exactly the events that the server encodes, and encodes the same bytes", () => {
  const property = fc.property(event, ({ timeSeriesId, micros: time, eventId, items: held }) => {
    const made = encodeOnServer(
      Buffer.from(timeSeriesId),
      time,
      Buffer.from(eventId),
      [...held].map(([key, each]) => ({ key: Buffer.from(key), value: bytesOf(each) })),
    );
    const bytes = new Uint8Array(made.bytes);
    deepEqual(encodeEvent(newEvent({ timeSeriesId, micros: time, eventId, items: held })), bytes);
    const read = receivedEvent(bytes, 0, bytes.length);
    for (const each of [read, read.copy()]) {
      equal(each.timeSeriesId, timeSeriesId);
      equal(each.timeMicros, time);
      equal(each.eventTime, formatTime(time));
      equal(each.eventId, eventId);
      deepEqual(
        each.items.map((item) => [item.key, item.value, item.text]),
        [...held].map(([key, v]) => [
          key,
          bytesOf(v),
          new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytesOf(v)),
        ]),
      );
      deepEqual(
        JSON.parse(JSON.stringify(each)),
        toJson(EventRecordSchema, fromBinary(EventRecordSchema, bytes), {
          alwaysEmitImplicit: true,
        }),
      );
      deepEqual(encodeEvent(each.toObject()).length, bytes.length);
    }
  });
  fc.assert(property, { numRuns: 500 });
});

test("times before 1970 and until 2255 are exact in both directions", () => {
  const property = fc.property(fc.integer({ min: -TIME_MAX, max: TIME_MAX }), (time) => {
    const eventTime = formatMicros(time);
    equal(eventTime, formatTime(time));
    equal(parseOnServer(eventTime), time);
    const bytes = encodeEvent({ timeSeriesId: "a", eventTime, eventId: "e" });
    const message = fromBinary(EventRecordSchema, bytes);
    const { seconds = 0n, nanos = 0 } = message.eventTime ?? {};
    equal(seconds * 1_000_000n + BigInt(nanos / 1000), BigInt(time));
    deepEqual(new Uint8Array(toBinary(EventRecordSchema, message)), bytes);
    const read = receivedEvent(bytes, 0, bytes.length);
    equal(read.timeMicros, time);
    equal(read.eventTime, eventTime);
  });
  fc.assert(property, { numRuns: 1000 });
});

test("every text of a time means the same to the client and to the server", () => {
  const two = fc.integer({ min: 0, max: 61 }).map((number) => String(number).padStart(2, "0"));
  const written = fc
    .tuple(
      fc.integer({ min: 1600, max: 2400 }),
      fc.array(two, { minLength: 5, maxLength: 5 }),
      fc.constantFrom("", ".1", ".12", ".123", ".000001", ".1234567", ".123456000", "."),
      fc.constantFrom("Z", "+00:00", "-05:30", "+14:00", "z", ""),
    )
    .map(
      ([year, [month, day, ...time], fraction, zone]) =>
        `${year}-${month}-${day}T${time.join(":")}${fraction}${zone}`,
    );
  const property = fc.property(written, (given) => {
    const parsed = { seconds: 0, nanos: 0 };
    const here = parseTime(given, parsed) ? parsed : undefined;
    const there = parseOnServer(given);
    if (there === undefined) equal(here, undefined);
    else if (there === "too fine") ok(parsed.nanos % 1000 !== 0);
    else equal(parsed.seconds * 1_000_000 + parsed.nanos / 1000, there);
  });
  fc.assert(property, { numRuns: 2000 });
  for (const given of ["2026-02-30T00:00:00Z", "2026-11-15", "", "now", 5, null, new Date(NaN)]) {
    equal(parseTime(given, { seconds: 0, nanos: 0 }), false, String(given));
  }
});

test("the largest events are encoded and read whole", async () => {
  const many = new Map(Array.from({ length: 256 }, (_, i) => [`key-${i}`, `value-${i}`]));
  const large = { payload: new Uint8Array(1024 * 1024 - 100).fill(7), text: "ä".repeat(20) };
  const events = [many, large].map((held, i) => ({
    timeSeriesId: "s".repeat(512),
    eventTime: "2026-11-15T10:00:00.000001Z",
    eventId: `e-${i}`,
    items: held,
  }));
  const [first, second] = events.map(encodeEvent);
  ok(first !== undefined && second !== undefined);
  equal(receivedEvent(first, 0, first.length).items.length, 256);
  deepEqual(receivedEvent(second, 0, second.length).get("payload"), large.payload);
  const batch = await parseWriteRequest(encodeWrite("plays", events), CONTRACT_EVENT_LIMITS);
  ok(batch.events[0] !== undefined && !("problem" in batch.events[0]));
  ok(locateEvent(first, 0, first.length) !== undefined);
});

test("the server refuses an id with half of a surrogate pair, for that event alone", async () => {
  const eventTime = "2026-11-15T10:00:00Z";
  const body = encodeWrite("plays", [
    { timeSeriesId: "a\ud800", eventTime, eventId: "e" },
    { timeSeriesId: "a", eventTime, eventId: "e" },
    { timeSeriesId: "a", eventTime, eventId: "\udc00b" },
    { timeSeriesId: "a", eventTime, eventId: "e", items: { "k\ud800": "v" } },
  ]);
  const { events } = await parseWriteRequest(body, CONTRACT_EVENT_LIMITS);
  deepEqual(
    events.map((each) => ("problem" in each ? each.problem : "taken")),
    ["EVENT_INVALID", "taken", "EVENT_INVALID", "EVENT_INVALID"],
  );
});

test("what cannot be encoded is refused with every problem, and nothing is left of it", async () => {
  const eventTime = "2026-11-15T10:00:00Z";
  const good = { timeSeriesId: "a", eventTime, eventId: "e" };
  const wrong = { timeSeriesId: 5, eventTime: "yesterday", eventId: "e", items: { a: 1 } };
  throws(
    () => encodeWrite("plays", [good, wrong as unknown as NewEvent]),
    (error) => {
      ok(error instanceof BraidError);
      equal(error.code, "REQUEST_INVALID");
      equal(error.outcome, "failed");
      equal(error.problems.length, 3);
      ok(error.problems.every((problem) => problem.startsWith("events[1].")));
      return true;
    },
  );
  const { events } = await parseWriteRequest(encodeWrite("plays", [good]), CONTRACT_EVENT_LIMITS);
  equal(events.length, 1);
  const query = {
    timeSeriesId: "a",
    start: "x",
    end: eventTime,
    pageSize: -1,
    totalRecordLimit: 0.5,
  };
  throws(
    () => encodeRead("plays", query, ""),
    (error) => error instanceof BraidError && error.problems.length === 3,
  );
});

test("a read request says what was asked", () => {
  const query = {
    timeSeriesId: "漢",
    start: new Date(-1),
    end: "2026-11-15T10:00:00.000001Z",
    filters: { device: "ios", raw: new Uint8Array([0, 255]), empty: "" },
    order: "OLDEST_FIRST",
    pageSize: 10_000,
    totalRecordLimit: 2 ** 40,
    allowPartial: true,
  } as const;
  const message = fromBinary(ReadEventRecordsRequestSchema, encodeRead("plays", query, "token"));
  deepEqual(toJson(ReadEventRecordsRequestSchema, message), {
    namespace: "plays",
    timeSeriesId: "漢",
    timeInterval: { start: "1969-12-31T23:59:59.999Z", end: "2026-11-15T10:00:00.000001Z" },
    eventFilters: [
      { matchEventItemKey: "device", matchEventItemValue: "aW9z" },
      { matchEventItemKey: "raw", matchEventItemValue: "AP8=" },
      { matchEventItemKey: "empty" },
    ],
    order: "OLDEST_FIRST",
    pageSize: 10_000,
    totalRecordLimit: String(2 ** 40),
    pageToken: "token",
    allowPartial: true,
  });
});

test("the rest of an answer is what it is in JSON", () => {
  const context = fc.record({
    namespace: fc.string(),
    timeTaken: fc.record({ seconds: fc.bigInt(0n, 100_000n), nanos: fc.nat(999_999_999) }),
    partitionsRead: fc.nat(),
    splitPartitionsRead: fc.nat(),
    bytesRead: fc.bigInt(0n, 2n ** 53n),
    partial: fc.boolean(),
    partialReason: fc.string(),
  });
  const failure = fc.record({ index: fc.nat(), code: fc.string(), message: fc.string() });
  const property = fc.property(
    fc.array(context, { minLength: 1, maxLength: 2 }),
    fc.array(failure, { maxLength: 3 }),
    fc.nat(),
    fc.string(),
    (responseContext, failures, written, nextPageToken) => {
      const schema = WriteEventRecordsSyncResponseSchema;
      const message = create(schema, { written, failures, responseContext });
      const json = toJson(schema, message, { alwaysEmitImplicit: true });
      const { count, ...rest } = decodeWritten(toBinary(schema, message));
      deepEqual({ written: count, ...rest }, json);
      const page = create(ReadEventRecordsResponseSchema, { nextPageToken, responseContext });
      const read = decodePage(toBinary(ReadEventRecordsResponseSchema, page));
      deepEqual(
        { ...read },
        {
          events: [],
          nextPageToken,
          context: (json as { responseContext: object[] }).responseContext[0],
        },
      );
    },
  );
  fc.assert(property, { numRuns: 200 });
});

test("bytes that are no event are refused, whatever they are, and never read as another event", () => {
  const good = encodeEvent({
    timeSeriesId: "profile:1",
    eventTime: "2026-11-15T10:00:00.000001Z",
    eventId: "e-1",
    items: { device: "ios", empty: "", long: "x".repeat(200), last: "1" },
  });
  const touch = (each: ReceivedEvent): unknown => [
    JSON.stringify(each),
    each.timeMicros,
    each.copy().toObject(),
  ];
  const tryRead = (bytes: Uint8Array): unknown => {
    try {
      return touch(receivedEvent(bytes, 0, bytes.length));
    } catch (error) {
      ok(error instanceof BraidError, String(error));
      equal(error.code, "ANSWER_INVALID");
      return undefined;
    }
  };
  for (let length = 0; length < good.length; length++) {
    const cut = good.slice(0, length);
    const read = tryRead(cut);
    // Between two items a cut is an event with fewer items; a page's lengths rule that out.
    if (read !== undefined) ok(fromBinary(EventRecordSchema, cut).eventItems.length < 4);
  }
  const changed = fc.property(fc.nat(good.length - 1), fc.nat(255), (at, byte) => {
    const bytes = good.slice();
    bytes[at] = byte;
    const read = tryRead(bytes);
    if (read === undefined) return;
    let expected: EventRecord;
    try {
      expected = fromBinary(EventRecordSchema, bytes);
    } catch (error) {
      // The library also refuses ids that are not UTF-8, which no server stores.
      ok(error instanceof TypeError);
      return;
    }
    const seen = receivedEvent(bytes, 0, bytes.length);
    equal(seen.eventId, expected.eventId);
    deepEqual(
      seen.items.map((item) => [item.key, item.value]),
      expected.eventItems.map((item) => [item.eventItemKey, new Uint8Array(item.eventItemValue)]),
    );
  });
  fc.assert(changed, { numRuns: 3000 });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void tryRead(bytes)),
    { numRuns: 3000 },
  );
});

test("fields that a newer server sends are skipped", () => {
  const bytes = encodeEvent({
    timeSeriesId: "a",
    eventTime: "1970-01-01T00:00:00Z",
    eventId: "e",
    items: { a: "1" },
  });
  const more = new Uint8Array([...bytes, 0x28, 0x96, 0x01, 0x32, 2, 9, 9, 0x22, 3, 0x0a, 1, 0x62]);
  const read = receivedEvent(more, 0, more.length);
  deepEqual(
    read.items.map(({ key, text: held }) => [key, held]),
    [
      ["a", "1"],
      ["b", ""],
    ],
  );
  throws(() => receivedEvent(new Uint8Array([...bytes, 0x1a, 1, 0x66]), 0, bytes.length + 3));
});

test("texts are decoded as every other decoder does, also those that repeat", () => {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const property = fc.property(
    fc.oneof(
      fc.uint8Array({ maxLength: 80 }),
      fc.string().map((each) => new Uint8Array(Buffer.from(each))),
    ),
    (bytes) => {
      const expected = decoder.decode(bytes);
      equal(decodeText(bytes, 0, bytes.length), expected);
      for (let i = 0; i < 2; i++) equal(decodeRepeated(bytes, 0, bytes.length), expected);
    },
  );
  fc.assert(property, { numRuns: 2000 });
});
