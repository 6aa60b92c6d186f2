import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import type { DescMessage } from "@bufbuild/protobuf";
import {
  BlockIdsRequestSchema,
  CreateNamespaceRequestSchema,
} from "../../gen/braid/v1/control_service_pb.js";
import { ListSplitsRequestSchema, RequestSplitRequestSchema } from "../../gen/braid/v1/split_pb.js";
import { ReadEventRecordsRequestSchema } from "../../gen/braid/v1/time_series_service_pb.js";
import { Problems } from "../../lib/problems.ts";
import { messageFromJson } from "./method.ts";

function problemsOf(schema: DescMessage, value: unknown): readonly string[] {
  const problems = new Problems();
  messageFromJson(schema, Buffer.from(JSON.stringify(value)), 1_000, problems);
  return problems.list();
}

test("every field of the wrong type is named at once, with what it must be", () => {
  const request = {
    namespace: 7,
    partition: { timeSlice: true, timeBucket: -1, eventBucket: "many", timeSeries: "p" },
    reason: ["slow"],
    force: "yes",
  };
  deepEqual(problemsOf(RequestSplitRequestSchema, request), [
    "namespace must be a string, not 7",
    "partition.timeSlice must be a string, not true",
    "partition.timeBucket must be an integer from 0 to 4294967295, not -1",
    'partition.eventBucket must be an integer from 0 to 4294967295, not "many"',
    'unknown field "partition.timeSeries"; did you mean timeSeriesId?',
    "reason must be a string, not an array",
    'force must be true or false, not "yes"',
  ]);
});

test("times, durations, bytes, enums, lists and messages are checked as well", () => {
  const read = {
    timeInterval: { start: "yesterday", end: 5 },
    eventFilters: [{ matchEventItemValue: "%" }, "device"],
    order: "SIDEWAYS",
    totalRecordLimit: "1.5",
  };
  deepEqual(problemsOf(ReadEventRecordsRequestSchema, read), [
    'timeInterval.start must be a time such as "2026-11-15T10:00:00.000001Z", not "yesterday"',
    'timeInterval.end must be a time such as "2026-11-15T10:00:00.000001Z", not 5',
    'eventFilters[0].matchEventItemValue must be base64, not "%"',
    "eventFilters[1] must be an object",
    'order "SIDEWAYS" is not known; use NEWEST_FIRST or OLDEST_FIRST',
    'totalRecordLimit must be an integer from 0 to 18446744073709551615, not "1.5"',
  ]);
  deepEqual(problemsOf(BlockIdsRequestSchema, { ids: {} }), ["ids must be an array"]);
  deepEqual(problemsOf(CreateNamespaceRequestSchema, { config: { acceptLimit: "1h" } }), [
    'config.acceptLimit must be a duration in seconds such as "3600s", not "1h"',
  ]);
  deepEqual(problemsOf(ListSplitsRequestSchema, []), ["the body must be a JSON object"]);
});

test("everything that the decoder accepts passes", () => {
  const fine = [
    { pageSize: "7", state: 2 },
    { page_size: 7, state: "FAILED", namespace: null },
    { pageSize: 1e2 },
  ];
  for (const request of fine) deepEqual(problemsOf(ListSplitsRequestSchema, request), []);
  const read = { timeInterval: { start: "2026-11-15T10:00:00.123456789+01:00" } };
  deepEqual(problemsOf(ReadEventRecordsRequestSchema, read), []);
});
