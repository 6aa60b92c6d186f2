import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { EventRecordSchema } from "../gen/braid/v1/event_pb.js";
import { utf8 } from "../lib/bytes.ts";
import { encodeEvent, itemsOf, locateEvent } from "./event-record.ts";
import type { EventBytes } from "./event-record.ts";
import { eventOfFrame, frameLength, writeFrame } from "./frames.ts";
import { validateEvent } from "./validate-event.ts";
import { CONTRACT_EVENT_LIMITS } from "./event-limits.ts";
import type { EventProblem } from "./validate-event.ts";

const id = fc.string({ minLength: 1, maxLength: 60, unit: "binary" }).filter(isWellFormed);

const anyEvent = fc.record({
  timeSeriesId: id,
  time: fc.integer({ min: 0, max: 9_000_000_000_000_000 }),
  eventId: id,
  items: fc.uniqueArray(fc.tuple(id, fc.uint8Array({ maxLength: 200 })), {
    maxLength: 12,
    selector: ([key]) => key,
  }),
});

test("the output of a protobuf encoder is canonical and passes unchanged", () => {
  fc.assert(
    fc.property(anyEvent, (input) => {
      const bytes = protobufBytes(input);
      const event = validate(bytes);
      ok(!("problem" in event), JSON.stringify(event));
      ok(event.bytes === bytes, "the same buffer, not a copy");
      checkParts(event, input);
    }),
  );
});

test("our own encoder writes the same bytes as a protobuf encoder", () => {
  fc.assert(
    fc.property(anyEvent, (input) => {
      const items = input.items.map(([key, value]) => ({ key: utf8(key), value }));
      const event = encodeEvent(utf8(input.timeSeriesId), input.time, utf8(input.eventId), items);
      deepEqual(Buffer.from(event.bytes), Buffer.from(protobufBytes(input)));
      checkParts(event, input);
    }),
  );
});

test("any other valid encoding becomes the canonical one", () => {
  fc.assert(
    fc.property(anyEvent, fc.boolean(), (input, unknownField) => {
      const fields = [...topLevelFields(protobufBytes(input))].toReversed();
      // Repeated fields must keep their order.
      const items = fields.filter((field) => field[0] === 0x22).toReversed();
      const others = fields.filter((field) => field[0] !== 0x22);
      const extra = unknownField ? [Uint8Array.of(0x78, 1), Uint8Array.of(0xa2, 1, 2, 8, 1)] : [];
      const shuffled = Buffer.concat([...items, ...extra, ...others]);
      const event = validate(shuffled);
      ok(!("problem" in event), JSON.stringify(event));
      deepEqual(
        Buffer.from(event.bytes.subarray(event.start, event.end)),
        Buffer.from(protobufBytes(input)),
      );
    }),
  );
});

test("an integer in more bytes than needed is rewritten in the fewest, in every field", () => {
  const event = encodeEvent(utf8("s"), 5_000_001, utf8("e"), [
    { key: utf8("k"), value: utf8("v") },
  ]);
  const canonical = Buffer.from(event.bytes);
  // The lengths of series id, time, event id, item, key and value.
  for (const at of [1, 4, event.idStart - 1, event.idEnd + 1, event.idEnd + 3, event.idEnd + 6]) {
    const padded = Buffer.concat([
      canonical.subarray(0, at),
      Buffer.from([(canonical[at] as number) | 0x80, 0]),
      canonical.subarray(at + 1),
    ]);
    // Inside an item its own length grows with it.
    if (at > event.idEnd + 1) padded[event.idEnd + 1] = (canonical[event.idEnd + 1] as number) + 1;
    const found = validate(padded);
    ok(!("problem" in found), `length at ${at}: ${JSON.stringify(found)}`);
    deepEqual(Buffer.from(found.bytes.subarray(found.start, found.end)), canonical);
  }
});

test("no bytes make it throw, and what it accepts is canonical", () => {
  const near = anyEvent.chain((input) => {
    const bytes = protobufBytes(input);
    return fc
      .record({ at: fc.nat(bytes.length - 1), value: fc.nat(255), cut: fc.nat(bytes.length) })
      .map(({ at, value, cut }) => {
        const changed = Uint8Array.from(bytes);
        changed[at] = value;
        return value % 2 === 0 ? changed : changed.subarray(0, cut);
      });
  });
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), near), (bytes) => {
      const event = validate(bytes);
      if ("problem" in event) return;
      const again = locateEvent(event.bytes, event.start, event.end);
      deepEqual(again, event);
      const items = [...itemsOf(event)];
      const { bytes: encoded } = encodeEvent(
        event.bytes.subarray(event.seriesStart, event.seriesEnd),
        event.time,
        event.bytes.subarray(event.idStart, event.idEnd),
        items,
      );
      deepEqual(Buffer.from(encoded), Buffer.from(event.bytes.subarray(event.start, event.end)));
    }),
    { numRuns: 2000 },
  );
});

test("W10: an event above the size limit is refused with the limit, and one at the limit is accepted", () => {
  const value = new Uint8Array(CONTRACT_EVENT_LIMITS.eventBytesMax);
  const head = encodeEvent(utf8("s"), 1, utf8("e"), [{ key: utf8("k"), value }]).end - value.length;
  const event = (size: number): Uint8Array =>
    encodeEvent(utf8("s"), 1, utf8("e"), [{ key: utf8("k"), value: new Uint8Array(size - head) }])
      .bytes;
  const limit = CONTRACT_EVENT_LIMITS.eventBytesMax;
  equal(event(limit).length, limit);
  ok(!("problem" in validate(event(limit))));
  equal(problemOf(event(limit + 1)).problem, "EVENT_TOO_LARGE");
  ok(problemOf(event(limit + 1)).message.includes(String(limit)));
  equal(problemOf(new Uint8Array(100 * limit)).problem, "EVENT_TOO_LARGE");
});

test("W22: ids that are not valid UTF-8 are refused, and nothing is normalised", () => {
  const bad = [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0x61, 0x80]];
  for (const bytes of bad) {
    const id = Uint8Array.from(bytes);
    ok(problemOf(encodeEvent(id, 1, utf8("e"), []).bytes).message.includes("timeSeriesId"));
    ok(problemOf(encodeEvent(utf8("s"), 1, id, []).bytes).message.includes("eventId"));
    const item = { key: id, value: new Uint8Array() };
    ok(problemOf(encodeEvent(utf8("s"), 1, utf8("e"), [item]).bytes).message.includes("Key"));
  }
  // Composed and decomposed forms of one letter stay two ids.
  const composed = validate(encodeEvent(utf8("\u00e9"), 1, utf8("e"), []).bytes) as EventBytes;
  const decomposed = validate(encodeEvent(utf8("e\u0301"), 1, utf8("e"), []).bytes) as EventBytes;
  ok(composed.seriesEnd - composed.seriesStart !== decomposed.seriesEnd - decomposed.seriesStart);
});

test("W23: empty ids and keys are refused; empty values, no items, NUL and the longest ids are accepted", () => {
  const none = new Uint8Array();
  equal(problemOf(encodeEvent(none, 1, utf8("e"), []).bytes).message, "timeSeriesId is missing");
  equal(problemOf(encodeEvent(utf8("s"), 1, none, []).bytes).message, "eventId is missing");
  const emptyKey = encodeEvent(utf8("s"), 1, utf8("e"), [{ key: none, value: none }]).bytes;
  equal(problemOf(emptyKey).message, "an eventItemKey is empty");
  const emptyValue = validate(
    encodeEvent(utf8("s"), 1, utf8("e"), [{ key: utf8("k"), value: none }]).bytes,
  );
  ok(!("problem" in emptyValue));
  equal([...itemsOf(emptyValue)][0]?.value.length, 0);
  ok(!("problem" in validate(encodeEvent(utf8("\0"), 1, utf8("\0a"), []).bytes)));
  ok(
    !(
      "problem" in validate(encodeEvent(utf8("s".repeat(512)), 0, utf8("e".repeat(256)), []).bytes)
    ),
  );
  ok("problem" in validate(encodeEvent(utf8("s".repeat(513)), 0, utf8("e"), []).bytes));
  ok("problem" in validate(encodeEvent(utf8("s"), 0, utf8("e".repeat(257)), []).bytes));
});

test("a repeated item key, too many items and a key that is too long are refused by name", () => {
  const item = (key: string) => ({ key: utf8(key), value: utf8("v") });
  const twice = encodeEvent(utf8("s"), 1, utf8("e"), [item("a"), item("b"), item("a")]).bytes;
  equal(problemOf(twice).message, 'eventItemKey "a" is there twice');
  const many = Array.from({ length: 257 }, (_, i) => item(`k${i}`));
  ok(problemOf(encodeEvent(utf8("s"), 1, utf8("e"), many).bytes).message.includes("256"));
  ok(!("problem" in validate(encodeEvent(utf8("s"), 1, utf8("e"), many.slice(1)).bytes)));
  const long = encodeEvent(utf8("s"), 1, utf8("e"), [item("k".repeat(257))]).bytes;
  ok(problemOf(long).message.includes("257"));
});

test("a time finer than a microsecond is an error; before 1970 and after 2255 have their own codes", () => {
  const at = (seconds: bigint, nanos: number): Uint8Array =>
    toBinary(
      EventRecordSchema,
      create(EventRecordSchema, {
        timeSeriesId: "s",
        eventId: "e",
        eventTime: { seconds, nanos },
      }),
    );
  match(problemOf(at(1n, 1)).message, /^eventTime .*microseconds/);
  equal(problemOf(at(-1n, 0)).problem, "EVENT_TOO_OLD");
  equal(problemOf(at(253_402_300_799n, 0)).problem, "EVENT_TOO_NEW");
  ok(!("problem" in validate(at(0n, 0))), "the epoch itself is a time");
  const missing = toBinary(
    EventRecordSchema,
    create(EventRecordSchema, { timeSeriesId: "s", eventId: "e" }),
  );
  equal(problemOf(missing).message, "eventTime is missing");
});

test("a frame is the event behind its tag and length, and is found again", () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 5 }), (inputs) => {
      const events = inputs.map((input) => validate(protobufBytes(input)) as EventBytes);
      const lengths = events.map((event) => frameLength(event.end - event.start));
      const frames = Buffer.alloc(lengths.reduce((a, b) => a + b, 0));
      let at = 0;
      for (const event of events) at = writeFrame(frames, at, event);
      equal(at, frames.length);
      at = 0;
      for (const input of inputs) {
        const event = eventOfFrame(frames, at);
        ok(event !== undefined);
        checkParts(event, input);
        at = event.end;
      }
    }),
  );
});

interface Input {
  timeSeriesId: string;
  time: number;
  eventId: string;
  items: [string, Uint8Array][];
}

function protobufBytes(input: Input): Uint8Array {
  return toBinary(
    EventRecordSchema,
    create(EventRecordSchema, {
      timeSeriesId: input.timeSeriesId,
      eventTime: {
        seconds: BigInt(Math.floor(input.time / 1_000_000)),
        nanos: (input.time % 1_000_000) * 1000,
      },
      eventId: input.eventId,
      eventItems: input.items.map(([eventItemKey, eventItemValue]) => ({
        eventItemKey,
        eventItemValue: eventItemValue as Uint8Array<ArrayBuffer>,
      })),
    }),
  );
}

function checkParts(event: EventBytes, input: Input): void {
  const text = (start: number, end: number): string =>
    Buffer.from(event.bytes.subarray(start, end)).toString();
  equal(event.time, input.time);
  equal(text(event.seriesStart, event.seriesEnd), input.timeSeriesId);
  equal(text(event.idStart, event.idEnd), input.eventId);
  const items = [...itemsOf(event)].map(({ key, value }) => [
    Buffer.from(key).toString(),
    Buffer.from(value),
  ]);
  deepEqual(
    items,
    input.items.map(([key, value]) => [key, Buffer.from(value)]),
  );
}

function* topLevelFields(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length;) {
    let length = 0;
    let next = at + 1;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[next++] as number;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    yield bytes.subarray(at, next + length);
    at = next + length;
  }
}

function validate(bytes: Uint8Array): EventBytes | EventProblem {
  return validateEvent(bytes, 0, bytes.length, CONTRACT_EVENT_LIMITS);
}

function problemOf(bytes: Uint8Array): EventProblem {
  const event = validate(bytes);
  ok("problem" in event, "expected a problem");
  return event;
}

function isWellFormed(text: string): boolean {
  return text.isWellFormed();
}
