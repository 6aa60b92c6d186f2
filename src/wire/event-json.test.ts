import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import { create, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import {
  ReadEventRecordsResponseSchema,
  WriteEventRecordsSyncRequestSchema,
} from "../gen/braid/v1/time_series_service_pb.js";
import { ServiceError } from "../lib/errors.ts";
import { writeFramesJson } from "./event-json.ts";
import type { EventBytes } from "./event-record.ts";
import { JsonBytes } from "./json-bytes.ts";
import { formatTime } from "./time-text.ts";
import { CONTRACT_EVENT_LIMITS } from "./event-limits.ts";
import { parseWriteJson } from "./write-json.ts";
import type { WriteBatch } from "./write-request.ts";

const id = fc.string({ unit: "grapheme", minLength: 1, maxLength: 80 }).filter((text) => {
  return text.isWellFormed() && Buffer.byteLength(text) <= 256;
});
const value = fc.uint8Array({ maxLength: 300 });
const event = fc.record({
  timeSeriesId: id,
  eventTime: fc.integer({ min: 0, max: 4_000_000_000_000_000 }).map(formatTime),
  eventId: id,
  eventItems: fc.uniqueArray(
    fc.record({
      eventItemKey: id,
      eventItemValue: fc
        .tuple(value, fc.constantFrom("base64" as const, "base64url" as const))
        .map(([bytes, form]) => Buffer.from(bytes).toString(form)),
    }),
    { maxLength: 6, selector: (item) => item.eventItemKey },
  ),
});

function snake(input: unknown): unknown {
  if (Array.isArray(input)) return input.map(snake);
  if (typeof input !== "object" || input === null) return input;
  return Object.fromEntries(
    Object.entries(input).map(([key, inner]) => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      snake(inner),
    ]),
  );
}

function take(request: unknown): WriteBatch {
  return taken(JSON.stringify(request));
}

/** Small requests are parsed at once, without a promise. */
function taken(text: string): WriteBatch {
  const batch = parseWriteJson(Buffer.from(text), CONTRACT_EVENT_LIMITS);
  ok(!(batch instanceof Promise));
  return batch;
}

function problemsOf(request: unknown): string {
  try {
    take(request);
  } catch (error) {
    ok(error instanceof ServiceError);
    equal(error.code, "REQUEST_INVALID");
    return error.message;
  }
  throw new Error("the request was accepted");
}

test("events from JSON have the bytes that protobuf makes of the same JSON, in either spelling", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 5 }), fc.boolean(), (events, snakeCase) => {
      const request = { namespace: "plays", events };
      const batch = take(snakeCase ? snake(request) : request);
      const message = fromJson(WriteEventRecordsSyncRequestSchema, request);
      const expected = message.events;
      equal(batch.namespace, "plays");
      equal(batch.events.length, expected.length);
      batch.events.forEach((taken, i) => {
        ok(!("problem" in taken), JSON.stringify(taken));
        const one = create(WriteEventRecordsSyncRequestSchema, {
          events: expected.slice(i, i + 1),
        });
        const bytes = toBinary(WriteEventRecordsSyncRequestSchema, one);
        const body = Buffer.from(taken.bytes.subarray(taken.start, taken.end));
        ok(Buffer.from(bytes).subarray(-body.length).equals(body));
      });
    }),
  );
});

test("frames printed as JSON equal what protobuf prints", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 5 }), (events) => {
      const batch = take({ namespace: "plays", events });
      const message = fromJson(WriteEventRecordsSyncRequestSchema, { events });
      const answer = create(ReadEventRecordsResponseSchema, { records: message.events });
      const target = new JsonBytes(16);
      target.ascii("[");
      writeFramesJson(target, [toBinary(ReadEventRecordsResponseSchema, answer)]);
      target.ascii("]");
      const expected = toJson(ReadEventRecordsResponseSchema, answer, { alwaysEmitImplicit: true });
      const { records } = expected as { records: unknown };
      deepEqual(JSON.parse(target.written().toString()), records);
      equal(batch.events.length, events.length);
    }),
  );
});

const hard = fc.oneof(
  fc.integer({ min: 0, max: 0x7f }).map((code) => String.fromCharCode(code)),
  fc.constantFrom("\u2028", "é", "水", "😀"),
);

test("any text is escaped so that JSON reads it back, control characters and all", () => {
  fc.assert(
    fc.property(fc.string({ unit: hard, maxLength: 60 }), (text) => {
      const target = new JsonBytes(1);
      const bytes = Buffer.from(text);
      target.ascii('"');
      target.escaped(bytes, 0, bytes.length);
      target.ascii('"');
      equal(JSON.parse(target.written().toString()), text);
    }),
  );
});

const good = {
  timeSeriesId: "p",
  eventTime: "2026-11-15T10:00:00.000001Z",
  eventId: "e",
};

test("a fault of one event fails that event and leaves the others", () => {
  const batch = take({
    namespace: "plays",
    events: [
      good,
      { ...good, eventId: "" },
      { ...good, timeSeriesId: "x".repeat(513) },
      { ...good, eventTime: "2026-11-15T10:00:00.0000001Z" },
      { ...good, eventTime: "1969-12-31T23:59:59Z" },
      { ...good, eventTime: "9999-01-01T00:00:00Z" },
      { ...good, eventId: "half \ud800" },
      { ...good, eventItems: [{ eventItemKey: "a" }, { eventItemKey: "a" }] },
      { ...good, eventItems: [{ eventItemValue: "aW9z" }] },
      { eventId: "e", timeSeriesId: "p" },
      {},
      good,
    ],
  });
  const codes = batch.events.map((taken) => ("problem" in taken ? taken.problem : "taken"));
  deepEqual(codes, [
    "taken",
    "EVENT_INVALID",
    "EVENT_INVALID",
    "EVENT_INVALID",
    "EVENT_TOO_OLD",
    "EVENT_TOO_NEW",
    "EVENT_INVALID",
    "EVENT_INVALID",
    "EVENT_INVALID",
    "EVENT_INVALID",
    "EVENT_INVALID",
    "taken",
  ]);
  const [first, last] = [batch.events[0] as EventBytes, batch.events.at(-1) as EventBytes];
  deepEqual(
    Buffer.from(first.bytes.subarray(first.start, first.end)),
    Buffer.from(last.bytes.subarray(last.start, last.end)),
  );
});

test("the answer lists all problems of a request at once, by path", () => {
  const said = problemsOf({
    namespace: 5,
    extra: 1,
    events: [
      { ...good, colour: 1 },
      { ...good, eventTime: "yesterday" },
      { ...good, eventTime: "2026-02-30T00:00:00Z" },
      { ...good, eventTime: 17 },
      { ...good, timeSeriesId: 4 },
      { ...good, eventItems: [{ eventItemKey: "a", eventItemValue: "not base64!" }] },
      {
        ...good,
        eventItems: [{ eventItemKey: "a", eventItemValue: "a".repeat(65) + "ł".repeat(3) }],
      },
      { ...good, eventItems: [{ eventItemKey: "a", eventItemValue: "aa=a" }, { keys: 1 }] },
      { ...good, event_id: "f" },
      null,
      [],
    ],
  });
  for (const part of [
    'unknown field "extra"',
    "namespace must be a string",
    "events[0].colour",
    "events[1].eventTime",
    "events[2].eventTime",
    "events[3].eventTime",
    "events[4].timeSeriesId",
    "events[5].eventItems[0].eventItemValue",
    "events[6].eventItems[0].eventItemValue",
    "events[7].eventItems[0].eventItemValue",
    "events[8].event_id",
    "events[9] must be an object",
    "events[10] must be an object",
  ]) {
    ok(said.includes(part), `${part} in ${said}`);
  }
});

test("Z9: __proto__ is an unknown field like any other", () => {
  const text = `{"namespace":"plays","events":[{"__proto__":{"eventId":"x"}}]}`;
  throws(() => taken(text), /events\[0\]\.__proto__/);
});

test("Z9: any JSON value is either accepted or refused with its problems", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.nat(3), (json, where) => {
      const request = [
        json,
        { events: json },
        { namespace: "plays", events: [json] },
        { namespace: "plays", events: [{ ...good, eventItems: json }] },
      ][where];
      try {
        take(request);
      } catch (error) {
        ok(error instanceof ServiceError && error.code === "REQUEST_INVALID", String(error));
      }
    }),
  );
});
