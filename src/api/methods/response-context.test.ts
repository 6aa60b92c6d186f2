import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { WriteEventRecordsSyncResponseSchema } from "../../gen/braid/v1/time_series_service_pb.js";
import { contextField } from "./response-context.ts";
import { durationOfMicros } from "./times.ts";

const CONTEXT = fc.record({
  namespace: fc.string({ unit: "binary", maxLength: 200 }),
  timeTakenMs: fc.oneof(fc.constant(0), fc.double({ min: -1, max: 1e9, noNaN: true })),
  partitionsRead: fc.nat(),
  splitPartitionsRead: fc.nat(),
  bytesRead: fc.maxSafeNat(),
  partial: fc.boolean(),
  partialReason: fc.oneof(fc.constant(""), fc.string({ unit: "binary", maxLength: 20_000 })),
});

test("the context of an answer is written as the general encoder writes it", () => {
  fc.assert(
    fc.property(CONTEXT, (context) => {
      const bytes = contextField(context);
      const answer = fromBinary(WriteEventRecordsSyncResponseSchema, bytes);
      const { timeTakenMs, bytesRead, ...same } = context;
      const [read] = answer.responseContext;
      const micros = Math.max(0, Math.round(timeTakenMs * 1000));
      deepEqual(
        { ...read, $typeName: undefined, timeTaken: { ...read?.timeTaken, $typeName: undefined } },
        {
          ...same,
          $typeName: undefined,
          bytesRead: BigInt(bytesRead),
          timeTaken: { ...durationOfMicros(micros), $typeName: undefined },
        },
      );
      deepEqual(bytes, Buffer.from(toBinary(WriteEventRecordsSyncResponseSchema, answer)));
    }),
  );
});
