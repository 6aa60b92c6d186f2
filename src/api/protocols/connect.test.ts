/** The Connect protocol by hand: what no Connect client sends, and the bytes that they receive. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { create, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import {
  ReadEventRecordsRequestSchema,
  ReadEventRecordsResponseSchema,
  TimeSeriesService,
} from "../../gen/braid/v1/time_series_service_pb.js";
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import { ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { ByteBudget } from "../../lib/byte-budget.ts";
import { utf8 } from "../../lib/bytes.ts";
import { systemClock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { FairQueue } from "../../lib/fair-queue.ts";
import { silentLog } from "../../lib/log.ts";
import { Metrics } from "../../lib/metrics.ts";
import { systemRandom } from "../../lib/random.ts";
import { DEFAULT_READ_LIMITS } from "../../read/read-limits.ts";
import type { ReadPage } from "../../read/read-page.ts";
import { encodeEvent } from "../../wire/event-record.ts";
import { frameLength, writeFrame } from "../../wire/frames.ts";
import { Calls } from "../calls.ts";
import type { Outcome } from "../error-map.ts";
import { Listener } from "../listen.ts";
import { readMethods } from "../methods/read-events.ts";

const READ = "/braid.v1.TimeSeriesService/ReadEventRecords";
const STREAM = "/braid.v1.TimeSeriesService/StreamEventRecords";
const REQUEST_BYTES_MAX = 2 * 1024 * 1024;

const REQUEST = create(ReadEventRecordsRequestSchema, {
  namespace: "plays",
  timeSeriesId: "p",
  timeInterval: { start: { seconds: 1n }, end: { seconds: 2n } },
});
const BINARY = Buffer.from(toBinary(ReadEventRecordsRequestSchema, REQUEST));
const JSON_TEXT = JSON.stringify(toJson(ReadEventRecordsRequestSchema, REQUEST));

/** What the reads do next. */
let fail: Error | undefined;
let pages = 1;
let valueBytes = 10;
const outcomes: Outcome[] = [];

const budget = new ByteBudget(64 * 1024 * 1024);
let listener: Listener;
let calls: Calls;
let url: string;

function page(): ReadPage {
  const items = [{ key: utf8("k"), value: new Uint8Array(valueBytes) }];
  const event = encodeEvent(utf8("p"), 1_500_000, utf8("e"), items);
  const frame = new Uint8Array(frameLength(event.end));
  writeFrame(frame, 0, event);
  const context = {
    namespace: "plays",
    timeTakenMs: 4,
    partitionsRead: 1,
    splitPartitionsRead: 0,
    bytesRead: 100,
    partial: false,
    partialReason: "",
  };
  return { wide: false, chunks: [frame], count: 1, nextPageToken: "", context };
}

before(async () => {
  calls = new Calls({
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    observe: (_method, outcome) => outcomes.push(outcome),
    inFlightMax: 1_000,
    budget,
    reads: new FairQueue(systemClock, 1_000),
    readWaitMsMax: () => 1_000,
    namespaceExists: (name) => name === "plays",
  });
  listener = await Listener.open({
    methods: readMethods({
      limits: DEFAULT_READ_LIMITS,
      readPage: () => (fail === undefined ? Promise.resolve(page()) : Promise.reject(fail)),
      stream: async function* () {
        for (let i = 0; i < pages; i++) yield page();
        if (fail !== undefined) throw fail;
      },
      explain: () => Promise.reject(new Error("not asked here")),
    }),
    metrics: new Metrics(),
    clock: systemClock,
    calls,
    random: systemRandom,
    log: silentLog,
    connectionRequestsMax: 500,
    connectionBytesMax: 64 * 1024 * 1024,
    allowedHosts: [],
    notReady: () => undefined,
    host: "127.0.0.1",
    port: 0,
    connectionsMax: 100,
  });
  url = `http://127.0.0.1:${listener.port}`;
});

beforeEach(() => {
  fail = undefined;
  pages = 1;
  valueBytes = 10;
  outcomes.length = 0;
});

after(() => {
  equal(calls.inFlight, 0);
  equal(budget.used, 0);
  listener.close();
});

type Headers = Readonly<Record<string, string>>;

const PROTO = { "content-type": "application/proto" };
const STREAM_PROTO = { "content-type": "application/connect+proto" };

function post(path: string, body: Uint8Array | string, headers: Headers): Promise<Response> {
  // A view of memory that may be shared is no body to the types of fetch.
  const content = typeof body === "string" ? body : new Uint8Array(body);
  return fetch(`${url}${path}`, { method: "POST", body: content, headers });
}

function enveloped(bytes: Uint8Array, flags = 0, length = bytes.length): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flags;
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, bytes]);
}

interface Envelope {
  readonly flags: number;
  readonly bytes: Buffer;
}

async function envelopesOf(answer: Response): Promise<Envelope[]> {
  let rest = Buffer.from(await answer.arrayBuffer());
  const all: Envelope[] = [];
  while (rest.length > 0) {
    const end = 5 + rest.readUInt32BE(1);
    ok(end <= rest.length, "the envelope is whole");
    all.push({ flags: rest[0] ?? 0, bytes: rest.subarray(5, end) });
    rest = rest.subarray(end);
  }
  return all;
}

interface Told {
  readonly code: string;
  readonly message: string;
  readonly details: readonly { readonly type: string; readonly value: string }[];
}

/** The error of an answer, wherever its form puts it. */
async function errorOf(answer: Response): Promise<Told> {
  if (!answer.headers.get("content-type")?.startsWith("application/connect+")) {
    return (await answer.json()) as Told;
  }
  const last = (await envelopesOf(answer)).at(-1);
  equal(last?.flags, 2);
  return (JSON.parse(String(last?.bytes)) as { error: Told }).error;
}

test("a unary call answers in the encoding of its request", async () => {
  const binary = await post(READ, BINARY, PROTO);
  equal(binary.status, 200);
  equal(binary.headers.get("content-type"), "application/proto");
  ok(binary.headers.get("braid-request-id"));
  const message = Buffer.from(await binary.arrayBuffer());
  equal(fromBinary(ReadEventRecordsResponseSchema, message).records[0]?.eventId, "e");
  const headers = { "content-type": "application/json", "connect-protocol-version": "1" };
  const json = await post(READ, JSON_TEXT, headers);
  equal(json.headers.get("content-type"), "application/json");
  const { records } = (await json.json()) as { records: { eventId: string }[] };
  equal(records[0]?.eventId, "e");
  deepEqual(outcomes, ["OK", "OK"]);
});

test("a stream is its pages and a last message, in either encoding", async () => {
  pages = 3;
  for (const [codec, body] of [
    ["proto", BINARY],
    ["json", Buffer.from(JSON_TEXT)],
  ] as const) {
    const type = `application/connect+${codec}`;
    const answer = await post(STREAM, enveloped(body), { "content-type": type });
    equal(answer.status, 200);
    equal(answer.headers.get("content-type"), type);
    const all = await envelopesOf(answer);
    deepEqual(
      all.map(({ flags }) => flags),
      [0, 0, 0, 2],
    );
    equal(String(all[3]?.bytes), "{}");
  }
});

test("an error has Connect's code and status, Braid's code, and its details", async () => {
  fail = new ServiceError("OVERLOADED", "later", { details: { limit: 7 }, retryAfterMs: 1_500 });
  const unary = await post(READ, BINARY, PROTO);
  equal(unary.status, 429);
  equal(unary.headers.get("content-type"), "application/json");
  equal(unary.headers.get("retry-after"), "2");
  equal(unary.headers.get("braid-code"), "OVERLOADED");
  const streamed = await post(STREAM, enveloped(BINARY), STREAM_PROTO);
  for (const error of [await errorOf(unary), await errorOf(streamed)]) {
    deepEqual([error.code, error.message], ["resource_exhausted", "later"]);
    const [info, retry] = error.details;
    deepEqual([info?.type, retry?.type], ["google.rpc.ErrorInfo", "google.rpc.RetryInfo"]);
    const facts = fromBinary(ErrorInfoSchema, Buffer.from(info?.value ?? "", "base64"));
    deepEqual([facts.reason, facts.metadata], ["OVERLOADED", { limit: "7" }]);
    const { retryDelay } = fromBinary(RetryInfoSchema, Buffer.from(retry?.value ?? "", "base64"));
    deepEqual([retryDelay?.seconds, retryDelay?.nanos], [1n, 500_000_000]);
    ok(!error.details.some(({ value }) => value.includes("=")));
  }
  deepEqual(outcomes, ["OVERLOADED", "OVERLOADED"]);
});

test("an error after the first page is in the message that ends the stream", async () => {
  fail = new ServiceError("DATA_LOSS", "a checksum does not match");
  pages = 2;
  const all = await envelopesOf(await post(STREAM, enveloped(BINARY), STREAM_PROTO));
  deepEqual(
    all.map(({ flags }) => flags),
    [0, 0, 2],
  );
  const { error, metadata } = JSON.parse(String(all[2]?.bytes)) as {
    error: Told;
    metadata: Record<string, string[]>;
  };
  equal(error.code, "data_loss");
  deepEqual(metadata["braid-code"], ["DATA_LOSS"]);
});

test("without a sign of Connect, an error keeps Braid's shape", async () => {
  fail = new ServiceError("ID_BLOCKED", "no");
  const answer = await post(READ, JSON_TEXT, { "content-type": "application/json" });
  equal(answer.status, 403);
  deepEqual(await answer.json(), { code: "ID_BLOCKED", message: "no", details: {} });
});

test("gzip goes both ways, and only where the caller asks for it", async () => {
  valueBytes = 5_000;
  // fetch decompresses unary answers itself; only the header tells.
  const unary = await post(READ, gzipSync(BINARY), { ...PROTO, "content-encoding": "gzip" });
  equal(unary.status, 200);
  equal(unary.headers.get("content-encoding"), "gzip");
  const whole = Buffer.from(await unary.arrayBuffer());
  equal(fromBinary(ReadEventRecordsResponseSchema, whole).records.length, 1);
  const plain = await post(READ, BINARY, { ...PROTO, "accept-encoding": "br;q=1, gzip;q=0" });
  equal(plain.headers.get("content-encoding"), null);
  const streamed = await post(STREAM, enveloped(gzipSync(BINARY), 1), {
    ...STREAM_PROTO,
    "connect-content-encoding": "gzip",
    "connect-accept-encoding": "br, gzip",
  });
  equal(streamed.headers.get("connect-content-encoding"), "gzip");
  const [first] = await envelopesOf(streamed);
  equal(first?.flags, 1);
  ok((first?.bytes.length ?? 0) < valueBytes);
  equal(
    fromBinary(ReadEventRecordsResponseSchema, gunzipSync(first?.bytes ?? "")).records.length,
    1,
  );
  const flat = await envelopesOf(await post(STREAM, enveloped(BINARY), STREAM_PROTO));
  equal(flat[0]?.flags, 0);
});

test("Z11: a compressed request has the same limit after decompression as one that is not", async () => {
  const bomb = gzipSync(Buffer.alloc(REQUEST_BYTES_MAX + 1));
  const unary = await post(READ, bomb, { ...PROTO, "content-encoding": "gzip" });
  equal(unary.headers.get("braid-code"), "REQUEST_TOO_LARGE");
  equal((await errorOf(unary)).code, "resource_exhausted");
  const headers = { ...STREAM_PROTO, "connect-content-encoding": "gzip" };
  equal(
    (await errorOf(await post(STREAM, enveloped(bomb, 1), headers))).code,
    "resource_exhausted",
  );
  const large = await post(READ, Buffer.alloc(REQUEST_BYTES_MAX + 1), PROTO);
  equal((await errorOf(large)).code, "resource_exhausted");
  const query = `connect=v1&encoding=proto&base64=1&compression=gzip&message=${bomb.toString("base64url")}`;
  const got = await fetch(`${url}${READ}?${query}`);
  equal((await errorOf(got)).code, "resource_exhausted");
});

test("a malformed request names its problem and runs nothing", async () => {
  const gzip = { "content-encoding": "gzip" };
  const unary: [Uint8Array, Headers, string, RegExp][] = [
    [Buffer.from([0xff, 0xff]), PROTO, "invalid_argument", /not a valid/],
    [BINARY.subarray(0, 9), PROTO, "invalid_argument", /not a valid/],
    [BINARY, { ...PROTO, ...gzip }, "invalid_argument", /not valid gzip/],
    [BINARY, { ...PROTO, "content-encoding": "br" }, "unimplemented", /use identity or gzip/],
    [BINARY, { ...PROTO, "connect-protocol-version": "2" }, "invalid_argument", /version/],
    [BINARY, { ...PROTO, "connect-timeout-ms": "-1" }, "invalid_argument", /timeout/],
    [BINARY, { ...PROTO, "connect-timeout-ms": "12345678901" }, "invalid_argument", /timeout/],
    [BINARY, { ...PROTO, origin: "http://evil.example" }, "invalid_argument", /evil/],
    [BINARY, { ...PROTO, "sec-fetch-site": "cross-site" }, "invalid_argument", /other origins/],
  ];
  for (const [body, headers, code, problem] of unary) {
    const error = await errorOf(await post(READ, body, headers));
    equal(error.code, code, error.message);
    match(error.message, problem);
  }
  const streams: [Uint8Array, Headers, string, RegExp][] = [
    [Buffer.alloc(0), {}, "unimplemented", /no message/],
    [Buffer.alloc(3), {}, "invalid_argument", /incomplete/],
    [enveloped(BINARY, 0, BINARY.length + 1), {}, "invalid_argument", /incomplete/],
    [enveloped(BINARY, 0, 0xff_ff_ff_ff), {}, "resource_exhausted", /larger than/],
    [
      Buffer.concat([enveloped(BINARY), enveloped(BINARY)]),
      {},
      "unimplemented",
      /more than one message/,
    ],
    [enveloped(BINARY, 1), {}, "internal", /do not say how/],
    [enveloped(BINARY, 2), {}, "invalid_argument", /flags 2/],
    [enveloped(BINARY), { "connect-content-encoding": "br" }, "unimplemented", /gzip/],
    [enveloped(Buffer.from([0xff])), {}, "invalid_argument", /not a valid/],
  ];
  for (const [body, headers, code, problem] of streams) {
    const error = await errorOf(await post(STREAM, body, { ...STREAM_PROTO, ...headers }));
    equal(error.code, code, error.message);
    match(error.message, problem);
  }
  ok(!outcomes.includes("OK"));
});

test("a deadline of nothing is over before any work", async () => {
  const late = { ...PROTO, "connect-timeout-ms": "0" };
  const answer = await post(READ, BINARY, late);
  equal(answer.status, 504);
  equal((await errorOf(answer)).code, "deadline_exceeded");
});

test("an unknown content type is refused with the types that would do", async () => {
  const unary = "application/proto, application/json";
  const stream = "application/connect+proto, application/connect+json";
  const version = { "connect-protocol-version": "1" };
  for (const [path, type, types] of [
    [READ, "application/thrift", unary],
    [READ, "application/connect+proto", unary],
    [STREAM, "application/proto", stream],
    [STREAM, "application/json", stream],
    [STREAM, "application/connect+thrift", stream],
  ] as const) {
    const answer = await post(path, BINARY, { ...version, "content-type": type });
    deepEqual([answer.status, answer.headers.get("accept-post")], [415, types], type);
  }
  const other = await post(READ, BINARY, { "content-type": "image/jpeg" });
  deepEqual([other.status, other.headers.get("accept-post")], [415, "application/json"]);
  equal(((await other.json()) as Told).code, "REQUEST_INVALID");
});

test("an unknown path and a wrong verb have HTTP's statuses", async () => {
  const nowhere = await post("/braid.v1.ControlService/Nothing", BINARY, PROTO);
  equal(nowhere.status, 404);
  equal((await errorOf(nowhere)).code, "unimplemented");
  const streamed = await post("/braid.v1.ControlService/Nothing", BINARY, STREAM_PROTO);
  equal((await errorOf(streamed)).code, "unimplemented");
  const put = await fetch(`${url}${READ}`, { method: "PUT", body: "x", headers: PROTO });
  deepEqual([put.status, put.headers.get("allow")], [405, "GET, POST"]);
  const got = await fetch(`${url}${STREAM}?connect=v1&encoding=json&message=%7B%7D`);
  deepEqual([got.status, got.headers.get("allow")], [405, "POST"]);
});

test("a method without side effects answers a GET", async () => {
  const message = encodeURIComponent(JSON_TEXT);
  const json = await fetch(`${url}${READ}?connect=v1&encoding=json&message=${message}`);
  equal(json.status, 200, await json.clone().text());
  equal(json.headers.get("cache-control"), "no-store");
  equal(json.headers.get("x-content-type-options"), "nosniff");
  for (const [encoding, parameters] of [
    ["base64", "base64=1"],
    ["base64url", "base64=1&compression=identity"],
    ["base64url", "base64=1&compression=gzip"],
  ] as const) {
    const bytes = parameters.includes("gzip") ? gzipSync(BINARY) : BINARY;
    const text = encodeURIComponent(bytes.toString(encoding));
    const got = await fetch(
      `${url}${READ}?message=${text}&connect=v1&encoding=proto&${parameters}`,
    );
    equal(got.status, 200, await got.clone().text());
    const whole = Buffer.from(await got.arrayBuffer());
    equal(fromBinary(ReadEventRecordsResponseSchema, whole).records.length, 1);
  }
  for (const [query, status, problem] of [
    ["connect=v2&encoding=json&message=%7B%7D", 400, /version/],
    ["connect=v1&encoding=json", 400, /parameter message/],
    ["connect=v1&encoding=proto&base64=1&message=*", 400, /base64/],
    ["connect=v1&encoding=xml&message=x", 415, /encoding=proto or json/],
    ["connect=v1&encoding=json&message=%7B%7D&compression=br", 501, /identity or gzip/],
  ] as const) {
    const got = await fetch(`${url}${READ}?${query}`);
    equal(got.status, status, query);
    match((await errorOf(got)).message, problem);
  }
  const page = await fetch(`${url}${READ}?connect=v1&encoding=json&message=${message}`, {
    headers: { "sec-fetch-site": "cross-site" },
  });
  equal(page.status, 400);
});

test("the proto files mark just the methods that change nothing", () => {
  const reads = /^(?:Get|List|Read|Stream|Explain|Plan|Watch)/;
  for (const { name, idempotency } of [...TimeSeriesService.methods, ...ControlService.methods]) {
    equal(idempotency === Idempotency.NO_SIDE_EFFECTS, reads.test(name), name);
  }
});
