import { deepEqual, equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { utf8 } from "../lib/bytes.ts";
import { ServiceError } from "../lib/errors.ts";
import { encodeEvent } from "./event-record.ts";
import { CONTRACT_EVENT_LIMITS } from "./event-limits.ts";
import { parseWriteRequest } from "./write-request.ts";

const { bytes } = encodeEvent(utf8("s"), 1, utf8("e"), []);
const NAMESPACE = Buffer.concat([Buffer.from([0x0a, 5]), Buffer.from("plays")]);
const EVENT = Buffer.concat([Buffer.from([0x12, bytes.length]), bytes]);

test("fields may come in any order, and unknown fields of any kind are skipped", async () => {
  const unknown = [
    [0x18, 0xff, 0xff, 0x03], // varint
    [0x21, 1, 2, 3, 4, 5, 6, 7, 8], // 64 bits
    [0x2a, 3, 1, 2, 3], // bytes
    [0x35, 1, 2, 3, 4], // 32 bits
  ].map((field) => Buffer.from(field));
  const request = Buffer.concat([...unknown, EVENT, ...unknown, NAMESPACE, EVENT, ...unknown]);
  const batch = await parseWriteRequest(request, CONTRACT_EVENT_LIMITS);
  equal(batch.namespace, "plays");
  deepEqual(
    batch.events.map((event) => "problem" in event),
    [false, false],
  );
});

test("bytes that are no message are refused", async () => {
  const broken = [[0x12], [0x12, 5, 1], [0x0b], [0x18], [0x18, ...Array(11).fill(0xff)], [0xff]];
  for (const field of broken) {
    throws(
      () => parseWriteRequest(Buffer.from(field), CONTRACT_EVENT_LIMITS),
      (error) => error instanceof ServiceError && error.code === "REQUEST_INVALID",
      String(field),
    );
  }
});

test("W11: a request with more events than allowed is refused before its events are checked", async () => {
  const limits = { ...CONTRACT_EVENT_LIMITS, requestEventsMax: 3 };
  const of = (count: number): Buffer =>
    Buffer.concat([NAMESPACE, ...Array.from({ length: count }, () => EVENT)]);
  equal((await parseWriteRequest(of(3), limits)).events.length, 3);
  throws(
    () => parseWriteRequest(of(4), limits),
    (error) => error instanceof ServiceError && error.code === "REQUEST_TOO_LARGE",
  );
});
