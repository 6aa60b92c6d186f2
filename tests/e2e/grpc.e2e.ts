/**
 * The real process over gRPC, for a client that knows only the address; and every refusal of the
 * contract that a client can cause, over gRPC, Connect and HTTP.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import type { Socket } from "node:net";
import { after, before, test } from "node:test";
import { fromBinary } from "@bufbuild/protobuf";
import type { JsonValue } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { openEmbeddedEngine } from "../../src/engines/embedded/index.ts";
import { ErrorInfoSchema } from "../../src/gen/google/rpc/error_details_pb.js";
import { systemClock } from "../../src/lib/clock.ts";
import { CODES } from "../../src/lib/errors.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { loadTokenKey } from "../../src/records/token-key.ts";
import { PageTokens } from "../../src/read/page-tokens.ts";
import { formatTime } from "../../src/wire/time-text.ts";
import { metricOf, until } from "../support/conditions.ts";
import { openRawCall, trailersOf } from "../support/raw-grpc.ts";
import { errorFacts, ReflectedClient } from "../support/reflected-client.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

const CONTROL = "braid.v1.ControlService";
const DATA = "braid.v1.TimeSeriesService";
const IN_FLIGHT_MAX = 4;

/**
 * A minute ago, so that every event is inside the accept limit; with seconds and microseconds, to
 * test both.
 */
const START = (Math.floor(Date.now() / 1000) - 60) * 1_000_000 + 1;
const INTERVAL = { start: formatTime(START), end: formatTime(START + 30_000_000) };
const QUERY = { namespace: "plays", timeSeriesId: "profile:1", timeInterval: INTERVAL };

let server: StartedServer;
let client: ReflectedClient;
/** A token of QUERY that the server signed more than a day ago. */
let oldToken = "";

before(async () => {
  server = await startServer({
    env: {
      BRAID_LIMITS_REQUEST_BYTES: "256KiB",
      BRAID_LIMITS_REQUEST_EVENTS: "1000",
      BRAID_LIMITS_EVENT_BYTES: "64KiB",
      BRAID_SERVER_REQUESTS_IN_FLIGHT: String(IN_FLIGHT_MAX),
    },
  });
  client = await ReflectedClient.connect(server.url);
});

after(async () => {
  await server[Symbol.asyncDispose]();
  client.close();
});

function eventsOf(timeSeriesId: string, count: number, bytes = 3) {
  return Array.from({ length: count }, (_, i) => ({
    timeSeriesId,
    eventTime: formatTime(START + i),
    eventId: `e-${i}`,
    eventItems: [
      { eventItemKey: "raw", eventItemValue: Buffer.alloc(bytes, i).toString("base64") },
    ],
  }));
}

test("a client with only the address finds the services by reflection and works with them", async () => {
  for (const name of [CONTROL, DATA, "grpc.health.v1.Health"]) {
    ok(client.services.includes(name), name);
  }
  deepEqual((await client.call("grpc.health.v1.Health/Check", {})).json, { status: "SERVING" });
  const health = await client.call("grpc.health.v1.Health/Check", { service: DATA });
  deepEqual(health.json, { status: "SERVING" });

  const config = { timePartition: { eventBuckets: 4 } };
  const made = await client.call(`${CONTROL}/CreateNamespace`, { namespace: "plays", config });
  equal(made.status, status.OK, made.message);
  equal(made.json?.["namespace"], "plays");

  const events = eventsOf("profile:1", 900);
  const wrote = await client.call(`${DATA}/WriteEventRecordsSync`, { namespace: "plays", events });
  deepEqual([wrote.json?.["written"], wrote.json?.["failures"]], [900, []]);
  match(String(wrote.trailers.get("braid-request-id")[0]), /./);

  const oldest = { ...QUERY, order: "OLDEST_FIRST", pageSize: 400 };
  const read: JsonValue[] = [];
  let pageToken = "";
  do {
    const { json } = await client.call(`${DATA}/ReadEventRecords`, { ...oldest, pageToken });
    // An array and a string, as the contract says.
    read.push(...(json?.["records"] as JsonValue[]));
    pageToken = json?.["nextPageToken"] as string;
  } while (pageToken !== "");
  deepEqual(read, events);

  const streamed: JsonValue[] = [];
  for await (const { json } of client.stream(`${DATA}/StreamEventRecords`, QUERY)) {
    streamed.push(...(json()["records"] as JsonValue[]));
  }
  deepEqual(streamed, events.toReversed());

  const explained = await client.call(`${DATA}/ExplainRead`, { ...QUERY, pageSize: 1_000 });
  const { slices, partitions, totals } = explained.json as {
    slices: unknown[];
    partitions: { events: string; route: string }[];
    totals: { eventsReturned: string };
  };
  equal(slices.length, 1);
  equal(totals.eventsReturned, "900");
  equal(
    partitions.reduce((sum, partition) => sum + Number(partition.events), 0),
    900,
  );
  deepEqual(new Set(partitions.map(({ route }) => route)), new Set(["ORIGINAL_FILTER_MISS"]));
});

test("a problem of an event is reported for that event, over both protocols", async () => {
  const blocked = { namespace: "plays", ids: [{ timeSeriesId: "bot", reason: "spam" }] };
  equal((await client.call(`${CONTROL}/BlockIds`, blocked)).status, status.OK);
  const [event] = eventsOf("profile:2", 1);
  const hour = 3_600_000_000;
  const events = [
    event,
    { ...event, eventTime: formatTime(START - hour) },
    { ...event, eventTime: formatTime(START + hour) },
    ...eventsOf("profile:2", 1, 65 * 1024),
    { ...event, timeSeriesId: "" },
    { ...event, timeSeriesId: "bot" },
  ] as JsonValue[];
  const codes = [
    "EVENT_TOO_OLD",
    "EVENT_TOO_NEW",
    "EVENT_TOO_LARGE",
    "EVENT_INVALID",
    "ID_BLOCKED",
  ];
  const expected = codes.map((code, i) => [i + 1, code]);
  const body = { namespace: "plays", events };
  for (const [method, taken] of [
    ["WriteEventRecordsSync", "written"],
    ["WriteEventRecords", "accepted"],
  ] as const) {
    const overGrpc = (await client.call(`${DATA}/${method}`, body)).json;
    const overHttp = (await (await post(`${DATA}/${method}`, body)).json()) as typeof overGrpc;
    for (const json of [overGrpc, overHttp]) {
      const failures = json?.["failures"] as { index: number; code: string }[];
      deepEqual(
        failures.map(({ index, code }) => [index, code]),
        expected,
      );
      equal(json?.[taken], 1);
    }
  }
});

test("W11: both protocols refuse a request with too many bytes or events, and none of it is applied", async () => {
  const tooLarge: readonly (readonly [string, number, JsonValue])[] = [
    ["events", 1_000, eventsOf("nobody", 1_001)],
    ["bytes", 256 * 1024, eventsOf("nobody", 6, 50_000)],
  ];
  for (const method of ["WriteEventRecordsSync", "WriteEventRecords"]) {
    for (const [what, limit, events] of tooLarge) {
      const body = { namespace: "plays", events };
      const overGrpc = await client.call(`${DATA}/${method}`, body);
      deepEqual(overGrpc.trailers.get("braid-code"), ["REQUEST_TOO_LARGE"], what);
      equal(factsOf(overGrpc.trailers.get(DETAILS)[0]).facts["limit"], String(limit), what);
      const overHttp = await post(`${DATA}/${method}`, body);
      const { code, details } = (await overHttp.json()) as { code: string; details: unknown };
      deepEqual([code, details], ["REQUEST_TOO_LARGE", { limit }], what);
    }
  }
  await until(async () => (await metricOf(server.url, "braid_write_queue_bytes")) === 0);
  const nobody = await client.call(`${DATA}/ReadEventRecords`, {
    ...QUERY,
    timeSeriesId: "nobody",
  });
  deepEqual(nobody.json?.["records"], []);
});

test("R18: every method returns NAMESPACE_NOT_FOUND for a namespace that does not exist", async () => {
  const missing = { http: 404, grpc: status.NOT_FOUND, retry: false };
  for (const method of ["ReadEventRecords", "StreamEventRecords", "ExplainRead"]) {
    const body = read({ namespace: "nowhere" });
    await check({ code: "NAMESPACE_NOT_FOUND", ...missing, method: `${DATA}/${method}`, body });
  }
  for (const method of ["WriteEventRecordsSync", "WriteEventRecords"]) {
    const body = (): JsonValue => ({ namespace: "nowhere", events: eventsOf("profile:1", 1) });
    await check({ code: "NAMESPACE_NOT_FOUND", ...missing, method: `${DATA}/${method}`, body });
  }
});

interface Refusal {
  readonly code: keyof typeof CODES;
  readonly http: number;
  readonly grpc: number;
  /** Whether the answer has a hint when to retry. */
  readonly retry: boolean;
  readonly method: string;
  readonly body: () => JsonValue;
  /** Headers of the HTTP request and of the call. */
  readonly headers?: readonly [Record<string, string>, Record<string, string>];
}

const read = (change: Record<string, JsonValue>) => () => ({ ...QUERY, ...change });

const REFUSALS: readonly Refusal[] = [
  {
    code: "REQUEST_INVALID",
    http: 400,
    grpc: status.INVALID_ARGUMENT,
    retry: false,
    method: `${DATA}/ReadEventRecords`,
    body: read({ timeInterval: { start: INTERVAL.end, end: INTERVAL.start } }),
  },
  {
    code: "CONFIG_INVALID",
    http: 400,
    grpc: status.INVALID_ARGUMENT,
    retry: false,
    method: `${CONTROL}/CreateNamespace`,
    body: () => ({ namespace: "odd", config: { timePartition: { secondsPerTimeBucket: 7_001 } } }),
  },
  {
    code: "PAGE_TOKEN_INVALID",
    http: 400,
    grpc: status.INVALID_ARGUMENT,
    retry: false,
    method: `${DATA}/ReadEventRecords`,
    body: read({ pageToken: "bm9uc2Vuc2U" }),
  },
  {
    code: "PAGE_TOKEN_EXPIRED",
    http: 400,
    grpc: status.INVALID_ARGUMENT,
    retry: false,
    method: `${DATA}/ReadEventRecords`,
    body: () => ({ ...QUERY, pageToken: oldToken }),
  },
  {
    code: "NAMESPACE_NOT_FOUND",
    http: 404,
    grpc: status.NOT_FOUND,
    retry: false,
    method: `${DATA}/ReadEventRecords`,
    body: read({ namespace: "nowhere" }),
  },
  {
    code: "TIME_SLICE_NOT_FOUND",
    http: 404,
    grpc: status.NOT_FOUND,
    retry: false,
    method: `${CONTROL}/GetHistogram`,
    body: () => ({ namespace: QUERY.namespace, timeSlice: "data_19990101" }),
  },
  {
    code: "SPLIT_NOT_FOUND",
    http: 404,
    grpc: status.NOT_FOUND,
    retry: false,
    method: `${CONTROL}/GetSplit`,
    body: () => ({
      namespace: QUERY.namespace,
      partition: { timeSlice: sliceOfToday(), timeSeriesId: "narrow", timeBucket: 0 },
    }),
  },
  {
    code: "TUNING_NOT_FOUND",
    http: 404,
    grpc: status.NOT_FOUND,
    retry: false,
    method: `${CONTROL}/DecideTuning`,
    body: () => ({ namespace: QUERY.namespace, id: "1", accept: true }),
  },
  {
    code: "VERIFY_NOT_FOUND",
    http: 404,
    grpc: status.NOT_FOUND,
    retry: false,
    method: `${CONTROL}/GetVerify`,
    body: () => ({ namespace: QUERY.namespace, verifyId: "00000000" }),
  },
  {
    code: "NAMESPACE_EXISTS",
    http: 409,
    grpc: status.ALREADY_EXISTS,
    retry: false,
    method: `${CONTROL}/CreateNamespace`,
    body: () => ({ namespace: "plays" }),
  },
  {
    code: "ID_BLOCKED",
    http: 403,
    grpc: status.PERMISSION_DENIED,
    retry: false,
    method: `${DATA}/ReadEventRecords`,
    body: read({ timeSeriesId: "bot" }),
  },
  {
    code: "REQUEST_TOO_LARGE",
    http: 413,
    grpc: status.RESOURCE_EXHAUSTED,
    retry: false,
    method: `${DATA}/WriteEventRecordsSync`,
    body: () => ({ namespace: "plays", events: eventsOf("nobody", 6, 50_000) }),
  },
  {
    code: "DEADLINE_EXCEEDED",
    http: 504,
    grpc: status.DEADLINE_EXCEEDED,
    retry: true,
    method: `${DATA}/ReadEventRecords`,
    body: read({}),
    headers: [{ "braid-timeout-ms": "0" }, { "grpc-timeout": "1n" }],
  },
];

/** Codes that a client cannot cause at will, and where they are tested. */
const ELSEWHERE = [
  "CONFLICT", // Only where several servers share a catalog.
  "DATA_LOSS", // tests/e2e/faults.e2e.ts
  "FRAMING_INVALID", // src/api/protocols/connect.test.ts
  "INTERNAL", // A bug: src/api/listen.test.ts
  "METHOD_NOT_FOUND", // Below, in a test of its own.
  "NOT_SUPPORTED", // src/api/protocols/connect.test.ts
  "OUTCOME_UNKNOWN", // tests/e2e/faulty-disk.e2e.ts
  "OVERLOADED", // Below: it needs a busy server.
  "PARTITION_NOT_FOUND", // src/splits/operate/splits.test.ts
  "STORAGE_UNAVAILABLE", // tests/e2e/faulty-disk.e2e.ts
];

test("every refusal has its code, status, reason and retry hint, over every protocol", async () => {
  oldToken = await signLongAgo();
  for (const refusal of REFUSALS) await check(refusal);
  const codes = [...REFUSALS.map(({ code }) => code), ...ELSEWHERE].toSorted();
  deepEqual(codes, Object.keys(CODES).toSorted(), "every code is covered");
});

test("O1: a busy server refuses with OVERLOADED over every protocol, and serves again afterwards", async () => {
  const host = new URL(server.url);
  // Admitted by the content length that they declare and do not send.
  const held = await Promise.all(
    Array.from({ length: IN_FLIGHT_MAX }, async (): Promise<Socket> => {
      const socket = connectTcp(Number(host.port), host.hostname);
      await once(socket, "connect");
      const head = `POST /${DATA}/WriteEventRecordsSync HTTP/1.1\r\nhost: ${host.host}\r\n`;
      socket.write(`${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n`);
      return socket;
    }),
  );
  const inFlight = (): Promise<number> => metricOf(server.url, "braid_requests_in_flight");
  try {
    await until(async () => (await inFlight()) === IN_FLIGHT_MAX);
    const busy = { http: 429, grpc: status.RESOURCE_EXHAUSTED, retry: true };
    const write = { namespace: "plays", events: eventsOf("refused", 1) };
    await check({
      code: "OVERLOADED",
      ...busy,
      method: `${DATA}/ReadEventRecords`,
      body: read({}),
    });
    await check({
      code: "OVERLOADED",
      ...busy,
      method: `${DATA}/WriteEventRecordsSync`,
      body: () => write,
    });
  } finally {
    for (const socket of held) socket.destroy();
  }
  await until(async () => (await inFlight()) === 0);
  const refused = { ...QUERY, timeSeriesId: "refused" };
  deepEqual((await client.call(`${DATA}/ReadEventRecords`, refused)).json?.["records"], []);
});

test("an unknown method is reported as such, over both protocols", async () => {
  const overHttp = await post(`${DATA}/SearchEventRecords`, {});
  const { code } = (await overHttp.json()) as { code: string };
  deepEqual([overHttp.status, code], [404, "METHOD_NOT_FOUND"]);
  const call = openRawCall(server.url, `${DATA}/SearchEventRecords`, Buffer.alloc(0));
  const said = await trailersOf(call);
  equal(said["grpc-status"], String(status.UNIMPLEMENTED));
  match(String(said["grpc-message"]), /SearchEventRecords/);
});

const DETAILS = "grpc-status-details-bin";

async function check(refusal: Refusal): Promise<void> {
  const { code, method, headers: [httpHeaders, callHeaders] = [{}, {}] } = refusal;
  const overHttp = await post(method, refusal.body(), httpHeaders);
  equal(overHttp.status, refusal.http, code);
  equal(overHttp.headers.has("retry-after"), refusal.retry, code);
  const body = (await overHttp.json()) as { code: string; message: string; details: object };
  deepEqual(Object.keys(body), ["code", "message", "details"]);
  equal(body.code, code, body.message);

  const message = client.encode(method, refusal.body());
  const said = await trailersOf(openRawCall(server.url, method, message, callHeaders));
  equal(said["grpc-status"], String(refusal.grpc), code);
  equal(said["braid-code"], code);
  const { reason, domain, retryMs } = factsOf(Buffer.from(String(said[DETAILS]), "base64"));
  deepEqual([reason, domain, retryMs !== undefined], [code, "braid", refusal.retry]);
  equal(decodeURIComponent(String(said["grpc-message"])) === "", false, "the message is not empty");
  await checkConnect(refusal, httpHeaders);
}

/** Connect has the codes of gRPC by name, and the details of gRPC. */
async function checkConnect(refusal: Refusal, headers: Record<string, string>): Promise<void> {
  const { code, method } = refusal;
  // Streams have another content type: tests/e2e/connect.e2e.ts.
  if (method.endsWith("/StreamEventRecords")) return;
  const late = headers["braid-timeout-ms"];
  const answer = await post(method, refusal.body(), {
    "connect-protocol-version": "1",
    ...(late !== undefined && { "connect-timeout-ms": late }),
  });
  const body = (await answer.json()) as {
    code: string;
    details: { type: string; value: string }[];
  };
  equal(body.code.toUpperCase(), status[refusal.grpc], code);
  deepEqual(
    [answer.headers.get("braid-code"), answer.headers.has("retry-after")],
    [code, refusal.retry],
  );
  const [info, retry] = body.details;
  equal(info?.type, "google.rpc.ErrorInfo");
  const { reason, domain } = fromBinary(ErrorInfoSchema, Buffer.from(info?.value ?? "", "base64"));
  deepEqual([reason, domain, retry !== undefined], [code, "braid", refusal.retry]);
}

function factsOf(richStatus: string | Buffer | undefined) {
  return errorFacts(typeof richStatus === "object" ? richStatus : Buffer.alloc(0));
}

function post(
  method: string,
  body: JsonValue,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${server.url}/${method}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });
}

/**
 * A token as the server would have signed it more than a day ago, with the key from its catalog.
 */
async function signLongAgo(): Promise<string> {
  const named = await client.call(`${CONTROL}/GetNamespace`, { namespace: "plays" });
  await server.stop("SIGTERM");
  const engine = await openEmbeddedEngine({ directory: server.data, clock: systemClock });
  const key = await loadTokenKey(engine.catalog, systemRandom);
  await engine.close();
  await server.start();
  const query = {
    namespace: "plays",
    seriesId: QUERY.timeSeriesId,
    start: START,
    end: START + 30_000_000,
    filters: [],
    order: "NEWEST_FIRST",
    pageSize: 0,
    totalLimit: 0,
    pageToken: "",
    allowPartial: false,
  } as const;
  const position = { time: START + 1, id: Buffer.from("e-1") };
  const state = { position, left: 0, bucketBytes: 0, bucketEvents: 0 };
  // The contract declares a string.
  const id = named.json?.["id"] as string;
  const longAgo = systemClock.nowMicros() - 25 * 3_600_000_000;
  return new PageTokens(key).encode(query, id, state, longAgo);
}

/** A slice is one day here, and is named after it. */
function sliceOfToday(): string {
  return `data_${new Date().toISOString().slice(0, 10).replaceAll("-", "")}`;
}
