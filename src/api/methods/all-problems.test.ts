/** A request that is wrong in several ways: one error names everything that can be known. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { ControlFixture } from "../../../tests/support/control-fixture.ts";
import { CreateNamespaceRequestSchema } from "../../gen/braid/v1/control_service_pb.js";
import { ServiceError } from "../../lib/errors.ts";
import { Problems } from "../../lib/problems.ts";
import { DEFAULT_READ_LIMITS } from "../../read/read-limits.ts";
import { CONTRACT_EVENT_LIMITS } from "../../wire/event-limits.ts";
import { blockedIdMethods } from "./blocked-ids.ts";
import type { Method } from "./method.ts";
import { namespaceMethods } from "./namespaces.ts";
import { readMethods } from "./read-events.ts";
import { Planner } from "../../provision/planner.ts";
import { planMethods } from "./plan.ts";
import { writeMethods } from "./write-events.ts";

const never = new AbortController().signal;
const notReached = (): never => {
  throw new Error("a wrong request must not get here");
};

async function start() {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start();
  await namespaces.create("plays", {});
  const planner = new Planner(fixture);
  return {
    namespaces,
    methods: [
      ...namespaceMethods(namespaces, planner, async () => undefined),
      ...planMethods(planner),
      ...blockedIdMethods(namespaces),
    ],
  };
}

const reads = readMethods({
  limits: DEFAULT_READ_LIMITS,
  readPage: notReached,
  stream: notReached,
  explain: notReached,
});
const writes = writeMethods({
  limits: CONTRACT_EVENT_LIMITS,
  requestBytesMax: 1_000,
  write: notReached,
  enqueue: notReached,
});

/** The problems of a request that must be refused as REQUEST_INVALID. */
async function problemsOf(
  methods: readonly Method[],
  name: string,
  body: unknown,
  headers = new Problems(),
): Promise<readonly string[]> {
  const method = methods.find(({ desc }) => desc.name === name);
  ok(method);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return refusedFor(async () => {
    const request = await method.fromJson(Buffer.from(text), undefined, headers);
    await (method.kind === "unary" ? request.run(never) : undefined);
  });
}

async function refusedFor(run: () => Promise<unknown>): Promise<readonly string[]> {
  try {
    await run();
  } catch (error) {
    ok(error instanceof ServiceError, String(error));
    equal(error.code, "REQUEST_INVALID");
    return error.details["problems"] as readonly string[];
  }
  throw new Error("the request was accepted");
}

test("CreateNamespace names a wrong shape, a wrong value, a wrong name and a wrong rule", async () => {
  const { methods, namespaces } = await start();
  const request = {
    namespace: "No!",
    colour: "red",
    config: {
      acceptLimit: "1h",
      futureLimit: "-5s",
      retention: { closeAfter: "864000s", deleteAfter: "3600s" },
      timePartition: { eventBuckets: 5_000 },
      widePartition: { bytesMax: "99999999999999999" },
    },
  };
  deepEqual(await problemsOf(methods, "CreateNamespace", request), [
    'unknown field "colour"; the known fields are namespace, config, workload',
    'config.acceptLimit must be a duration in seconds such as "3600s", not "1h"',
    "config.futureLimit is negative",
    "config.widePartition.bytesMax is too large",
    'namespace: "No!" must be 1 to 40 of a-z, 0-9 and _, beginning with a letter',
    "timePartition.eventBuckets (5000) must be from 1 to 1024; choose a value in that range",
    "retention.closeAfter (864000s) must be less than retention.deleteAfter (3600s); lower the first or raise the second",
  ]);
  equal((await namespaces.list({})).namespaces.length, 1);
});

test("over gRPC too, a wrong value does not hide a wrong name", async () => {
  const { methods } = await start();
  const method = methods.find(({ desc }) => desc.name === "CreateNamespace");
  const message = create(CreateNamespaceRequestSchema, {
    namespace: "No!",
    config: { acceptLimit: { seconds: -1n } },
  });
  const bytes = toBinary(CreateNamespaceRequestSchema, message);
  deepEqual(await refusedFor(async () => (await method?.fromBinary(bytes))?.run(never)), [
    "config.acceptLimit is negative",
    'namespace: "No!" must be 1 to 40 of a-z, 0-9 and _, beginning with a letter',
  ]);
});

test("UpdateNamespace checks the rest of a wrong request against what is stored", async () => {
  const { methods, namespaces } = await start();
  const request = {
    namespace: "plays",
    reset: ["acceptLimit", "colour", 7],
    config: { acceptLimit: "1h", slos: { read: { target: "30s" } }, consistency: "SOMETIMES" },
  };
  const { version } = await namespaces.get("plays");
  deepEqual(await problemsOf(methods, "UpdateNamespace", request), [
    "reset[2] must be a string, not 7",
    'config.acceptLimit must be a duration in seconds such as "3600s", not "1h"',
    'config.consistency "SOMETIMES" is not known; use READ_YOUR_WRITES or EVENTUAL',
    'reset: "colour" is not a field; name one such as slos.read or acceptLimit',
    "slos.read.target (30s) is above slos.read.max (1s); lower the target or raise the maximum",
  ]);
  equal((await namespaces.get("plays")).version, version);
  const nowhere = { namespace: "", reset: ["colour"], config: { acceptLimit: 7 } };
  deepEqual(await problemsOf(methods, "UpdateNamespace", nowhere), [
    'config.acceptLimit must be a duration in seconds such as "3600s", not 7',
    "namespace is missing",
    'reset: "colour" is not a field; name one such as slos.read or acceptLimit',
  ]);
});

test("BlockIds and UnblockIds name the problems of every id, whatever is wrong with the others", async () => {
  const { methods, namespaces } = await start();
  const ids = [
    { timeSeriesId: 7, reason: "x".repeat(1_025) },
    "device",
    { timeSeriesId: "", expireTime: "2026-11-15T10:00:00.0000001Z" },
    { timeSeriesId: "late", expireTime: "1999-01-01T00:00:00Z", colour: "red" },
    { timeSeriesId: "fine" },
  ];
  deepEqual(await problemsOf(methods, "BlockIds", { ids }), [
    "ids[0].timeSeriesId must be a string, not 7",
    "ids[1] must be an object",
    'unknown field "ids[3].colour"; the known fields are timeSeriesId, reason, expireTime, blockTime, source',
    "namespace is missing",
    "ids[2].expireTime has nanoseconds, and times have microseconds: truncate it before sending",
    "ids[0].reason has 1025 bytes, the limit is 1024",
    "ids[2].timeSeriesId is missing",
    "ids[3].expireTime is not in the future; leave it out to block for good",
  ]);
  equal((await namespaces.listBlockedIds("plays", {})).ids.length, 0);
  deepEqual(await problemsOf(methods, "UnblockIds", { timeSeriesIds: ["", 7] }), [
    "timeSeriesIds[1] must be a string, not 7",
    "namespace is missing",
    "timeSeriesIds[0] is missing",
  ]);
  const many = Array.from({ length: 100 }, () => ({ timeSeriesId: 7 }));
  const listed = await problemsOf(methods, "BlockIds", { namespace: "plays", ids: many });
  equal(listed.length, 21);
  equal(listed.at(-1), "and 80 more");
});

test("every kind of read names a wrong shape together with what is missing and out of range", async () => {
  const request = {
    pageSize: 10_001,
    time_interval: { start: "yesterday", end: "2026-11-15T10:00:00.0000001Z" },
    eventFilters: [{ matchEventItemKey: 7 }, {}],
    order: "SIDEWAYS",
    colour: "red",
  };
  for (const name of ["ReadEventRecords", "StreamEventRecords", "ExplainRead"]) {
    deepEqual(await problemsOf(reads, name, request), [
      'time_interval.start must be a time such as "2026-11-15T10:00:00.000001Z", not "yesterday"',
      "eventFilters[0].matchEventItemKey must be a string, not 7",
      'order "SIDEWAYS" is not known; use NEWEST_FIRST or OLDEST_FIRST',
      'unknown field "colour"; the known fields are namespace, timeSeriesId, timeInterval, eventFilters, order, pageSize, totalRecordLimit, pageToken, allowPartial',
      "timeInterval.end has nanoseconds, and times have microseconds: truncate it before sending",
      "namespace is missing",
      "timeSeriesId is missing",
      "pageSize is 10001, the limit is 10000",
      "eventFilters[1].matchEventItemKey is missing",
    ]);
  }
});

test("a write names the problems of the request, its events' shape and its headers", async () => {
  for (const name of ["WriteEventRecordsSync", "WriteEventRecords"]) {
    const headers = new Problems();
    headers.add("the timeout is malformed");
    const body = '{"event":[],"events":[7,{"eventId":1,"x":2}],"events":[]}';
    deepEqual(await problemsOf(writes, name, body, headers), [
      "the timeout is malformed",
      'unknown field "event"; known are namespace, events',
      "events[0] must be an object",
      "unknown field events[1].x; known are timeSeriesId, eventTime, eventId, eventItems",
      "events[1].eventId must be a string",
      "events is given twice; keep one",
      "namespace is missing",
    ]);
    const method = writes.find(({ desc }) => desc.name === name);
    const malformed = new Problems();
    malformed.add("the timeout is malformed");
    const listed = await refusedFor(
      async () => await method?.fromBinary(Buffer.alloc(0), undefined, malformed),
    );
    deepEqual(listed, ["the timeout is malformed", "namespace is missing"]);
  }
});

test("Z9: the same field twice does not hide what else is wrong", async () => {
  const { methods } = await start();
  const body = '{"namespace":"plays","namespace":"","timeSlice":7}';
  deepEqual(await problemsOf(methods, "UndropTimeSlice", body), [
    "an object in the body has the same field twice; remove one",
    "timeSlice must be a string, not 7",
    "namespace is missing",
  ]);
});
