/**
 * The answers of a real server match the client's types: they have every field that the proto does
 * not mark as optional, and every setting (a message whose fields are all optional).
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ControlService } from "../../src/gen/braid/v1/control_service_pb.js";
import { TimeSeriesService } from "../../src/gen/braid/v1/time_series_service_pb.js";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

let server: StartedServer;

before(async () => {
  server = await startServer();
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

const namespace = "plays";
const now = new Date();
const event = { timeSeriesId: "a", eventTime: now.toISOString(), eventId: "e", eventItems: [] };
const old = { ...event, eventTime: "2020-01-01T00:00:00Z" };
const query = {
  namespace,
  timeSeriesId: "a",
  timeInterval: {
    start: new Date(now.getTime() - 60_000).toISOString(),
    end: new Date(now.getTime() + 60_000).toISOString(),
  },
};
const partition = {
  timeSlice: `data_${now.toISOString().slice(0, 10).replaceAll("-", "")}`,
  timeSeriesId: "a",
  timeBucket: now.getUTCHours(),
  eventBucket: 0,
};

const REQUESTS: readonly (readonly [method: string, request: object])[] = [
  ["CreateNamespace", { namespace }],
  [
    "CreateNamespace",
    { namespace: "visits", workload: { ids: { mid: 1 }, eventsPerDayPerId: { mid: 1 } } },
  ],
  ["WriteEventRecordsSync", { namespace, events: [event, old] }],
  ["WriteEventRecords", { namespace, events: [event, old] }],
  ["ReadEventRecords", query],
  ["ExplainRead", query],
  ["UpdateNamespace", { namespace, config: { slos: { read: { max: "2s" } } } }],
  ["GetNamespace", { namespace }],
  ["ListNamespaces", {}],
  ["ListTimeSlices", { namespace }],
  ["GetHistogram", { namespace, history: true }],
  ["ListPartitions", { namespace }],
  ["GetWidthMap", { namespace }],
  ["ListIds", { namespace }],
  ["BlockIds", { namespace, ids: [{ timeSeriesId: "b" }] }],
  ["ListBlockedIds", { namespace }],
  ["UnblockIds", { namespace, timeSeriesIds: ["b"] }],
  ["PauseSplits", { namespace }],
  ["RequestSplit", { namespace, partition }],
  ["GetSplit", { namespace, partition }],
  ["ListSplits", { namespace }],
  ["GetReadMode", { namespace }],
  ["SetReadMode", { namespace, mode: "OFF" }],
  ["GetKillSwitch", {}],
  ["SetKillSwitch", { on: true }],
  ["PlanNamespace", { workload: { ids: { mid: 1 }, eventsPerDayPerId: { mid: 1 } }, worlds: 4 }],
  ["GetStatus", {}],
  ["ListServers", {}],
  ["ListFilters", {}],
  ["GetMetricsHistory", { resolution: "SECOND" }],
  ["ResumeSplits", { namespace }],
  ["StartVerify", { namespace }],
  ["DeleteNamespace", { namespace }],
];

test("every field that an answer may lack is optional in the proto", async () => {
  for (const [name, request] of REQUESTS) {
    const service = [TimeSeriesService, ControlService].find((each) => methodOf(each, name));
    ok(service !== undefined, name);
    const response = await fetch(`${server.url}/${service.typeName}/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request),
    });
    const answer: unknown = await response.json();
    equal(response.status, 200, `${name}: ${JSON.stringify(answer)}`);
    const output = methodOf(service, name)?.output;
    ok(output !== undefined);
    deepEqual(missing(output, answer, name), []);
  }
});

type Service = typeof TimeSeriesService | typeof ControlService;

function methodOf(service: Service, name: string): { readonly output: DescMessage } | undefined {
  return service.methods.find((method) => method.name === name);
}

function missing(message: DescMessage, value: unknown, path: string): string[] {
  if (message.typeName.startsWith("google.")) return []; // A string in JSON.
  const settings = message.fields.every(isOptional);
  return message.fields.flatMap((field) => {
    const held: unknown = Reflect.get(Object(value), field.jsonName);
    const at = `${path}.${field.jsonName}`;
    if (held === undefined) return isOptional(field) && !settings ? [] : [at];
    if (field.message === undefined) return [];
    const { message: inner } = field;
    return [held].flat().flatMap((each) => missing(inner, each, at));
  });
}

function isOptional({ proto }: DescField): boolean {
  return proto.proto3Optional;
}
