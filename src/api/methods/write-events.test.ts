import { equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { decodeWritten } from "../../../client/decode-answer.ts";
import { EventRecordSchema } from "../../gen/braid/v1/event_pb.js";
import { WriteEventRecordsRequestSchema } from "../../gen/braid/v1/time_series_service_pb.js";
import { CONTRACT_EVENT_LIMITS } from "../../wire/event-limits.ts";
import { VarintReader } from "../../wire/varint.ts";
import { writeMethods } from "./write-events.ts";

/** More than one step puts together. */
const FAILURES = 1_200;

test("an answer that is cut off anywhere is not taken for a batch with fewer failures", async () => {
  const failures = Array.from({ length: FAILURES }, (_, index) => {
    return { index, code: "EVENT_TOO_OLD" as const, message: "too old" };
  });
  const result = { taken: 1, failures, timeTakenMs: 1.5 };
  const methods = writeMethods({
    limits: CONTRACT_EVENT_LIMITS,
    requestBytesMax: 1_000_000,
    write: () => Promise.resolve(result),
    enqueue: () => Promise.resolve(result),
  });
  const record = { timeSeriesId: "a", eventTime: { seconds: 1n, nanos: 0 }, eventId: "e" };
  const request = toBinary(
    WriteEventRecordsRequestSchema,
    create(WriteEventRecordsRequestSchema, {
      namespace: "plays",
      events: [create(EventRecordSchema, record)],
    }),
  );
  for (const { fromBinary } of methods) {
    const { run } = await fromBinary(Buffer.from(request));
    const message = await (await run(new AbortController().signal)).binary();
    const answer = Buffer.alloc(message.byteLength);
    message.copy(answer, 0);
    equal(decodeWritten(answer).failures.length, FAILURES);
    for (const end of fieldEnds(answer).slice(0, -1)) {
      throws(() => decodeWritten(answer.subarray(0, end)), /not whole/);
    }
  }
});

/** Where each field of a message ends. */
function fieldEnds(message: Buffer): number[] {
  const reader = new VarintReader();
  const ends: number[] = [];
  while (reader.position < message.length) {
    const tag = reader.read(message, message.length);
    const value = reader.read(message, message.length);
    if ((tag & 7) === 2) reader.position += value;
    ends.push(reader.position);
  }
  return ends;
}
