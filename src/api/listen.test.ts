import { deepEqual, equal, match, ok } from "node:assert/strict";
import { connect as connectHttp2, constants } from "node:http2";
import { connect as connectTcp } from "node:net";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { Client, credentials, Metadata, status } from "@grpc/grpc-js";
import type { ServiceError as CallError } from "@grpc/grpc-js";
import fc from "fast-check";
import {
  CreateNamespaceRequestSchema,
  NamespaceSchema,
} from "../gen/braid/v1/control_service_pb.js";
import { KillSwitchSchema, SetKillSwitchRequestSchema } from "../gen/braid/v1/switches_pb.js";
import {
  ReadEventRecordsRequestSchema,
  ReadEventRecordsResponseSchema,
  WriteEventRecordsSyncRequestSchema,
  WriteEventRecordsSyncResponseSchema,
} from "../gen/braid/v1/time_series_service_pb.js";
import { ErrorInfoSchema, RetryInfoSchema } from "../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../gen/google/rpc/status_pb.js";
import { ByteBudget } from "../lib/byte-budget.ts";
import { utf8 } from "../lib/bytes.ts";
import { systemClock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import { FairQueue } from "../lib/fair-queue.ts";
import { silentLog } from "../lib/log.ts";
import { Metrics } from "../lib/metrics.ts";
import { systemRandom } from "../lib/random.ts";
import type { Namespace } from "../model/namespace.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../model/namespace-config.ts";
import { FIRST_READ_MODE } from "../model/read-mode.ts";
import type { ReadPage } from "../read/read-page.ts";
import { DEFAULT_READ_LIMITS } from "../read/read-limits.ts";
import type { ReadQuery } from "../read/read-query.ts";
import { encodeEvent } from "../wire/event-record.ts";
import { frameLength, writeFrame } from "../wire/frames.ts";
import { CONTRACT_EVENT_LIMITS } from "../wire/event-limits.ts";
import type { WriteBatch } from "../wire/write-request.ts";
import { EXAMPLES } from "./examples.ts";
import { Listener } from "./listen.ts";
import { allMethods } from "./methods/all-methods.ts";
import type { Method } from "./methods/method.ts";
import type { NamespaceUseCases } from "./methods/namespaces.ts";
import { Calls } from "./calls.ts";
import { requestObserver } from "../server/measured-methods.ts";
import { declareServerMetrics } from "../server/server-metrics.ts";

const REQUEST_BYTES_MAX = 16 * 1024 * 1024;

/** What the fakes received, and what they do next. */
const seen: { batches: WriteBatch[]; queries: ReadQuery[]; signals: AbortSignal[] } = {
  batches: [],
  queries: [],
  signals: [],
};
let fail: Error | undefined;
/** Reads wait for this promise. */
let gate: Promise<void> = Promise.resolve();
let pagesRead = 0;

const metrics = new Metrics();
let listener: Listener;
let url: string;
let client: Client;

function page(records: number, valueBytes: number, nextPageToken: string): ReadPage {
  const chunks = Array.from({ length: records }, (_, i) => {
    const items = [{ key: utf8("k"), value: new Uint8Array(valueBytes).fill(i) }];
    const event = encodeEvent(utf8("p"), 1_763_200_000_000_001 + i, utf8(`e"${i}`), items);
    const frame = new Uint8Array(frameLength(event.end));
    writeFrame(frame, 0, event);
    return frame;
  });
  const context = {
    namespace: "plays",
    timeTakenMs: 4,
    partitionsRead: 1,
    splitPartitionsRead: 0,
    bytesRead: 100,
    partial: false,
    partialReason: "",
  };
  return { wide: false, chunks, count: records, nextPageToken, context };
}

const plays: Namespace = {
  name: "plays",
  id: "plays-1",
  config: DEFAULT_NAMESPACE_CONFIG,
  epoch: 0,
  epochStarts: [],
  reopening: null,
  floor: 0,
  createdAt: 1_763_200_000_000_000,
  readMode: { ...FIRST_READ_MODE, since: 1_763_200_000_000_000 },
  splitsPaused: null,
  everEventual: false,
  version: 3,
};

const namespaces: NamespaceUseCases = {
  create: (name) => Promise.resolve({ ...plays, name }),
  checkCreation: () => undefined,
  checkUpdate: () => Promise.resolve(),
  checkBlocks: () => undefined,
  checkUnblocks: () => undefined,
  get: (name) =>
    name === "plays"
      ? Promise.resolve(plays)
      : Promise.reject(
          new ServiceError("NAMESPACE_NOT_FOUND", "create it first", {
            details: { namespace: name },
          }),
        ),
  list: () => Promise.resolve({ namespaces: [plays], nextPageToken: "" }),
  update: () => Promise.resolve(plays),
  delete: () => Promise.reject(new Error("not asked")),
  undelete: () => Promise.reject(new Error("not asked")),
  listDeleted: () => Promise.resolve({ namespaces: [], nextPageToken: "" }),
  listTimeSlices: () => Promise.resolve([]),
  undropTimeSlice: () => Promise.reject(new Error("not asked")),
  purgeTimeSlice: () => Promise.reject(new Error("not asked")),
  blockIds: () => Promise.resolve([]),
  unblockIds: () => Promise.resolve(0),
  listBlockedIds: () => Promise.resolve({ ids: [], nextPageToken: "" }),
};

const unasked = (): never => {
  throw new Error("not asked here");
};
const notAsked = (): Promise<never> => Promise.reject(new Error("not asked here"));

async function open(options: {
  readonly inFlightMax: number;
  readonly methods?: readonly Method[];
}): Promise<Listener> {
  const own = options.inFlightMax === 1_000 ? metrics : new Metrics();
  const methods = allMethods({
    namespaces,
    planner: { check: () => undefined, plan: notAsked, keep: unasked },
    sizes: { of: notAsked, history: notAsked, unwalked: notAsked },
    partitions: { list: notAsked },
    maps: { get: notAsked },
    ids: { find: notAsked },
    tunings: { list: notAsked, waiting: async () => undefined, decide: notAsked },
    doctor: { remediesFor: notAsked },
    splits: {
      list: notAsked,
      newest: notAsked,
      summary: notAsked,
      get: notAsked,
      locate: notAsked,
      request: notAsked,
      retry: notAsked,
      rollback: notAsked,
      pause: notAsked,
      resume: notAsked,
    },
    modes: {
      get: notAsked,
      set: notAsked,
      killSwitch: () => Promise.resolve({ on: true, at: 1_000_000, by: "operator", reason: "why" }),
      setKillSwitch: (on, { by, reason }) =>
        Promise.resolve({ on, at: 2_000_000, by, reason, unchanged: false }),
    },
    verify: { start: notAsked, get: notAsked },
    queue: {
      detections: { queue: notAsked, list: notAsked, replay: notAsked, drop: notAsked },
      kind: "embedded",
      process: "server-1",
    },
    status: { get: notAsked, confirmClock: notAsked },
    servers: { list: notAsked },
    filters: { process: "server-1", viewMaxAgeMs: 10_000, figures: () => [] },
    history: { read: unasked, onSample: unasked },
    watches: { watch: unasked },
    writing: {
      limits: CONTRACT_EVENT_LIMITS,
      requestBytesMax: REQUEST_BYTES_MAX,
      write: (batch) => {
        seen.batches.push(batch);
        if (fail !== undefined) return Promise.reject(fail);
        return Promise.resolve({ taken: batch.events.length, failures: [], timeTakenMs: 1.5 });
      },
      enqueue: (batch) =>
        Promise.resolve({ taken: batch.events.length, failures: [], timeTakenMs: 0 }),
    },
    reading: {
      limits: DEFAULT_READ_LIMITS,
      readPage: async (query, signal) => {
        seen.queries.push(query);
        seen.signals.push(signal);
        if (fail !== undefined) throw fail;
        await Promise.race([
          gate,
          new Promise((_, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason as Error));
          }),
        ]);
        return page(3, 10, "more");
      },
      stream: async function* (query, signal) {
        seen.signals.push(signal);
        for (let i = 0; i < query.totalLimit; i++) {
          signal.throwIfAborted();
          pagesRead++;
          yield page(1, 500_000, i + 1 < query.totalLimit ? "more" : "");
          if (fail !== undefined) throw fail;
        }
      },
      explain: () => Promise.reject(new Error("a bug with secrets in it")),
    },
  });
  return Listener.open({
    methods: options.methods ?? methods,
    metrics: own,
    clock: systemClock,
    calls: new Calls({
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
      observe: requestObserver(declareServerMetrics(own), (name) => name === "plays"),
      inFlightMax: options.inFlightMax,
      budget: new ByteBudget(64 * 1024 * 1024),
      reads: new FairQueue(systemClock, 1_000),
      readWaitMsMax: () => 1_000,
      namespaceExists: (name) => name === "plays",
    }),
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
}

before(async () => {
  listener = await open({ inFlightMax: 1_000 });
  url = `http://127.0.0.1:${listener.port}`;
  client = new Client(`127.0.0.1:${listener.port}`, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
    "grpc.max_send_message_length": -1,
  });
});

after(async () => {
  client.close();
  listener.close();
});

const asIs = (bytes: Buffer): Buffer => bytes;

interface CallAnswer {
  readonly error: CallError | null;
  readonly bytes: Buffer;
  readonly trailers: Metadata;
}

function call(
  path: string,
  body: Uint8Array,
  options: { deadlineMs?: number; client?: Client; metadata?: Metadata } = {},
): Promise<CallAnswer> {
  return new Promise((resolve) => {
    let trailers = new Metadata();
    const deadline =
      options.deadlineMs === undefined ? {} : { deadline: Date.now() + options.deadlineMs };
    const made = (options.client ?? client).makeUnaryRequest(
      path,
      asIs,
      asIs,
      Buffer.from(body),
      options.metadata ?? new Metadata(),
      deadline,
      (error, answer) => {
        // The status arrives after this callback.
        setImmediate(() => {
          resolve({
            error,
            bytes: answer ?? Buffer.alloc(0),
            trailers: error?.metadata ?? trailers,
          });
        });
      },
    );
    made.on("status", (said) => {
      trailers = said.metadata;
    });
  });
}

function infoOf(answer: CallAnswer): { reason: string; retryMs: number | undefined } {
  const [bytes] = answer.trailers.get("grpc-status-details-bin");
  const rich = fromBinary(StatusSchema, bytes as Buffer);
  const info = rich.details.map((any) => anyUnpack(any, ErrorInfoSchema)).find((found) => found);
  const retry = rich.details.map((any) => anyUnpack(any, RetryInfoSchema)).find((found) => found);
  equal(info?.domain, "braid");
  const delay = retry?.retryDelay;
  return {
    reason: info?.reason ?? "",
    retryMs: delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6,
  };
}

interface Told {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly headers: Headers;
}

async function post(path: string, body: string | Uint8Array, headers: Record<string, string> = {}) {
  return fetch(`${url}${path}`, {
    method: "POST",
    body: typeof body === "string" ? body : Buffer.from(body),
    headers: { "content-type": "application/json", ...headers },
  });
}

async function told(answer: Response): Promise<Told> {
  const body = (await answer.json()) as { code: string; message: string; details: object };
  deepEqual(Object.keys(body), ["code", "message", "details"]);
  return { status: answer.status, code: body.code, message: body.message, headers: answer.headers };
}

const WRITE = "/braid.v1.TimeSeriesService/WriteEventRecordsSync";
const READ = "/braid.v1.TimeSeriesService/ReadEventRecords";
const STREAM = "/braid.v1.TimeSeriesService/StreamEventRecords";
const GET = "/braid.v1.ControlService/GetNamespace";
const CREATE = "/braid.v1.ControlService/CreateNamespace";

const readJson = {
  namespace: "plays",
  timeSeriesId: "p",
  timeInterval: { start: "2026-11-15T10:00:00Z", end: "2026-11-15T11:00:00.000001Z" },
};
const readRequest = create(ReadEventRecordsRequestSchema, {
  namespace: "plays",
  timeSeriesId: "p",
  timeInterval: { start: { seconds: 10n }, end: { seconds: 20n } },
});

test("a read over gRPC returns the stored frames, followed by token and context", async () => {
  const answer = await call(READ, toBinary(ReadEventRecordsRequestSchema, readRequest));
  equal(answer.error, null);
  const message = fromBinary(ReadEventRecordsResponseSchema, answer.bytes);
  deepEqual(
    message.records.map((record) => record.eventId),
    ['e"0', 'e"1', 'e"2'],
  );
  equal(message.nextPageToken, "more");
  equal(message.responseContext[0]?.timeTaken?.nanos, 4_000_000);
  match(String(answer.trailers.get("braid-request-id")[0]), /^[0-9a-f]{12}-/);
});

test("the same read over HTTP returns proto3 JSON with defaults", async () => {
  const answer = await post(READ, JSON.stringify(readJson), { "braid-request-id": "mine-1" });
  equal(answer.status, 200);
  equal(answer.headers.get("braid-request-id"), "mine-1");
  const body = (await answer.json()) as {
    records: { eventTime: string }[];
    responseContext: unknown;
  };
  equal(body.records.length, 3);
  equal(body.records[0]?.eventTime, "2025-11-15T09:46:40.000001Z");
  deepEqual(body.responseContext, [
    {
      namespace: "plays",
      timeTaken: "0.004s",
      partitionsRead: 1,
      splitPartitionsRead: 0,
      bytesRead: "100",
      partial: false,
      partialReason: "",
    },
  ]);
  equal(seen.queries.at(-1)?.end, seen.queries.at(-1) && 1_794_740_400_000_001);
});

test("a write over either protocol reaches the writer as the same bytes", async () => {
  const request = create(WriteEventRecordsSyncRequestSchema, {
    namespace: "plays",
    events: [{ timeSeriesId: "p", eventTime: { seconds: 5n, nanos: 1000 }, eventId: "é" }],
  });
  const answer = await call(WRITE, toBinary(WriteEventRecordsSyncRequestSchema, request));
  equal(fromBinary(WriteEventRecordsSyncResponseSchema, answer.bytes).written, 1);
  const json = {
    namespace: "plays",
    events: [{ time_series_id: "p", eventTime: "1970-01-01T00:00:05.000001Z", eventId: "é" }],
  };
  const body = (await (await post(WRITE, JSON.stringify(json))).json()) as { written: number };
  equal(body.written, 1);
  const bytes = seen.batches.slice(-2).map(({ events: [event] }) => {
    ok(event !== undefined && !("problem" in event));
    return Buffer.from(event.bytes.subarray(event.start, event.end)).toString("hex");
  });
  equal(bytes[0], bytes[1]);
});

test("control methods answer over both protocols, and an empty body is an empty request", async () => {
  const request = create(CreateNamespaceRequestSchema, { namespace: "plays" });
  const answer = await call(CREATE, toBinary(CreateNamespaceRequestSchema, request));
  equal(fromBinary(NamespaceSchema, answer.bytes).config?.acceptLimit?.seconds, 600n);
  const list = await fetch(`${url}/braid.v1.ControlService/ListNamespaces`, { method: "POST" });
  const body = (await list.json()) as {
    namespaces: {
      epoch: string;
      config: { acceptLimit: string };
      readMode: string;
      splitsPaused: boolean;
    }[];
  };
  equal(body.namespaces[0]?.epoch, "0");
  equal(body.namespaces[0]?.config.acceptLimit, "600s");
  deepEqual([body.namespaces[0].readMode, body.namespaces[0].splitsPaused], ["SHADOW", false]);
  const kill = await call("/braid.v1.ControlService/GetKillSwitch", Buffer.alloc(0));
  equal(fromBinary(KillSwitchSchema, kill.bytes).setTime?.seconds, 1n);
});

test("the operator's name that a caller claims is recorded, over HTTP and gRPC", async () => {
  const path = "/braid.v1.ControlService/SetKillSwitch";
  const set = async (headers: Record<string, string>): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: '{"on":true}',
    });
  const claimed = (await (await set({ "braid-operator": "ana@ops-1" })).json()) as object;
  equal(Reflect.get(claimed, "by"), "ana@ops-1");
  equal(Reflect.get((await (await set({})).json()) as object, "by"), "operator");
  equal((await set({ "braid-operator": "x".repeat(129) })).status, 400);

  const metadata = new Metadata();
  metadata.set("braid-operator", "bo@ops-2");
  const request = toBinary(SetKillSwitchRequestSchema, create(SetKillSwitchRequestSchema, {}));
  const { bytes } = await call(path, request, { metadata });
  equal(fromBinary(KillSwitchSchema, bytes).by, "bo@ops-2");
});

test("an error has its code, status and retry hint over both protocols", async () => {
  const missing = await told(await post(GET, '{"namespace":"nope"}'));
  deepEqual([missing.status, missing.code], [404, "NAMESPACE_NOT_FOUND"]);
  const notFound = await call(GET, Buffer.from("\n\u0004nope"));
  equal(notFound.error?.code, status.NOT_FOUND);
  deepEqual(notFound.trailers.get("braid-code"), ["NAMESPACE_NOT_FOUND"]);
  deepEqual(infoOf(notFound), { reason: "NAMESPACE_NOT_FOUND", retryMs: undefined });
  fail = new ServiceError("OVERLOADED", "later", { retryAfterMs: 1_500 });
  try {
    const busy = await told(await post(WRITE, '{"namespace":"plays"}'));
    deepEqual([busy.status, busy.code, busy.headers.get("retry-after")], [429, "OVERLOADED", "2"]);
    const overloaded = await call(WRITE, Buffer.from("\n\u0005plays"));
    equal(overloaded.error?.code, status.RESOURCE_EXHAUSTED);
    deepEqual(infoOf(overloaded), { reason: "OVERLOADED", retryMs: 1_500 });
    // What is stored does not change by itself: a hint would only repeat the refusal.
    fail = new ServiceError("CONFLICT", "it was restored already");
    equal((await post(WRITE, '{"namespace":"plays"}')).headers.get("retry-after"), null);
    fail = new ServiceError("CONFLICT", "changed meanwhile", { retryAfterMs: 1_000 });
    equal((await post(WRITE, '{"namespace":"plays"}')).headers.get("retry-after"), "1");
  } finally {
    fail = undefined;
  }
});

test("Z25: a bug is INTERNAL with a request id and without the text of the cause", async () => {
  const http = await told(
    await post("/braid.v1.TimeSeriesService/ExplainRead", JSON.stringify(readJson)),
  );
  deepEqual([http.status, http.code], [500, "INTERNAL"]);
  match(http.message, /request id [0-9a-f]{12}-/);
  ok(!http.message.includes("secrets"));
  const grpc = await call(
    "/braid.v1.TimeSeriesService/ExplainRead",
    toBinary(ReadEventRecordsRequestSchema, readRequest),
  );
  equal(grpc.error?.code, status.INTERNAL);
  ok(!grpc.error.message.includes("secrets"));
});

test("one error names every problem of a request", async () => {
  const unknown = await told(
    await post(READ, JSON.stringify({ namespac: "plays", timeInterval: { begin: 1 }, x: {} })),
  );
  equal(unknown.code, "REQUEST_INVALID");
  match(unknown.message, /namespac.*did you mean namespace.*timeInterval\.begin.*"x"/);
  const wrong = await told(
    await post(
      READ,
      JSON.stringify({ pageSize: 10_001, timeInterval: { start: "2026-11-15T10:00:00.0000001Z" } }),
    ),
  );
  for (const part of [
    "pageSize",
    "timeInterval.end is missing",
    "timeInterval.start has nanoseconds, and times have microseconds",
    "timeSeriesId",
  ]) {
    ok(wrong.message.includes(part), wrong.message);
  }
  const reversed = await told(
    await post(
      READ,
      JSON.stringify({
        ...readJson,
        timeInterval: { start: "2026-11-15T10:00:00Z", end: "2026-11-15T10:00:00Z" },
      }),
    ),
  );
  match(reversed.message, /start must be before/);
});

test("a stream over HTTP is one page per line, and an error after the first page is the last line", async () => {
  const whole = await post(STREAM, JSON.stringify({ ...readJson, totalRecordLimit: "3" }));
  equal(whole.headers.get("content-type"), "application/x-ndjson; charset=utf-8");
  const lines = (await whole.text()).trimEnd().split("\n");
  equal(lines.length, 3);
  ok(lines.every((line) => line.startsWith('{"result":{"records":[{')));
  fail = new ServiceError("STORAGE_UNAVAILABLE", "gone");
  try {
    const broken = await post(STREAM, JSON.stringify({ ...readJson, totalRecordLimit: "3" }));
    const said = (await broken.text()).trimEnd().split("\n");
    equal(said.length, 2);
    match(said[1] ?? "", /^\{"error":\{"code":"STORAGE_UNAVAILABLE"/);
  } finally {
    fail = undefined;
  }
});

function requestOf(totalRecordLimit: bigint): Buffer {
  const request = create(ReadEventRecordsRequestSchema, { ...readRequest, totalRecordLimit });
  return Buffer.from(toBinary(ReadEventRecordsRequestSchema, request));
}

async function until(claim: () => boolean): Promise<void> {
  for (let i = 0; !claim(); i++) {
    ok(i < 2_000, "it never came true");
    await systemClock.sleep(5);
  }
}

test("a stream over gRPC is complete, and a slow reader holds no more than a few pages", async () => {
  const fast = client.makeServerStreamRequest(STREAM, asIs, asIs, requestOf(20n));
  let count = 0;
  for await (const bytes of fast as AsyncIterable<Buffer>) {
    count += fromBinary(ReadEventRecordsResponseSchema, bytes).records.length;
  }
  equal(count, 20);
  pagesRead = 0;
  // A plain HTTP/2 stream that nobody reads: the gRPC client would read ahead on its own.
  const session = connectHttp2(url);
  const slow = session.request({
    ":path": STREAM,
    ":method": "POST",
    "content-type": "application/grpc",
    te: "trailers",
  });
  slow.on("error", () => undefined);
  const body = requestOf(200n);
  slow.end(Buffer.concat([Buffer.from([0, 0, 0, 0, body.length]), body]));
  await until(() => pagesRead > 0);
  const signal = seen.signals.at(-1);
  let earlier = -1;
  // The server has stopped reading ahead when no further page comes for a while.
  while (earlier !== pagesRead) {
    earlier = pagesRead;
    await systemClock.sleep(200);
  }
  ok(pagesRead <= 3, `${pagesRead} pages were read ahead`);
  slow.close(constants.NGHTTP2_CANCEL);
  await until(() => signal?.aborted === true);
  session.close();
});

test("a caller that leaves ends the work, over both protocols", async () => {
  let release: () => void = () => undefined;
  gate = new Promise((resolve) => {
    release = resolve;
  });
  try {
    const leaving = new AbortController();
    const asked = seen.signals.length;
    const http = fetch(`${url}${READ}`, {
      method: "POST",
      body: JSON.stringify(readJson),
      headers: { "content-type": "application/json" },
      signal: leaving.signal,
    }).catch(() => "left");
    await until(() => seen.signals.length > asked);
    leaving.abort();
    equal(await http, "left");
    await until(() => seen.signals.at(-1)?.aborted === true);
    const late = await call(READ, toBinary(ReadEventRecordsRequestSchema, readRequest), {
      deadlineMs: 50,
    });
    equal(late.error?.code, status.DEADLINE_EXCEEDED);
    await until(() => seen.signals.at(-1)?.aborted === true);
    const slow = await told(
      await post(READ, JSON.stringify(readJson), { "braid-timeout-ms": "50" }),
    );
    deepEqual([slow.status, slow.code], [504, "DEADLINE_EXCEEDED"]);
  } finally {
    release();
    gate = Promise.resolve();
  }
});

test("O1: requests beyond the limit in flight are refused before any work", async () => {
  const small = await open({ inFlightMax: 1 });
  let release: () => void = () => undefined;
  gate = new Promise((resolve) => {
    release = resolve;
  });
  const other = new Client(`127.0.0.1:${small.port}`, credentials.createInsecure());
  try {
    const body = toBinary(ReadEventRecordsRequestSchema, readRequest);
    const asked = seen.signals.length;
    const first = call(READ, body, { client: other });
    await until(() => seen.signals.length > asked);
    const second = await call(READ, body, { client: other });
    deepEqual(second.trailers.get("braid-code"), ["OVERLOADED"]);
    equal(seen.signals.length, asked + 1);
    const own = `http://127.0.0.1:${small.port}`;
    const ask = (path: string, request: object): Promise<Response> =>
      fetch(`${own}${path}`, {
        method: "POST",
        body: JSON.stringify(request),
        headers: { "content-type": "application/json" },
      });
    equal((await ask(READ, readJson)).status, 429);
    // Control methods have slots of their own.
    equal((await ask(GET, { namespace: "plays" })).status, 200);
    release();
    equal((await first).error, null);
  } finally {
    release();
    gate = Promise.resolve();
    other.close();
    small.close();
  }
});

test("U3: draining finishes requests in flight, refuses new ones, and reports it", async () => {
  const own = await open({ inFlightMax: 10 });
  let release: () => void = () => undefined;
  gate = new Promise((resolve) => {
    release = resolve;
  });
  try {
    const asked = seen.signals.length;
    const running = fetch(`http://127.0.0.1:${own.port}${READ}`, {
      method: "POST",
      body: JSON.stringify(readJson),
      headers: { "content-type": "application/json" },
    });
    await until(() => seen.signals.length > asked);
    const drained = own.drain(10_000);
    release();
    equal((await running).status, 200);
    equal(await drained, true);
    await fetch(`http://127.0.0.1:${own.port}/healthz`).then(
      () => ok(false, "it still accepts"),
      () => undefined,
    );
  } finally {
    release();
    gate = Promise.resolve();
    own.close();
  }
});

test("a malformed HTTP request gets an error that names the problem, and has no effect", async () => {
  const deep = "[".repeat(60_000);
  const cases: [string | Uint8Array, Record<string, string>, string][] = [
    ["{", {}, "REQUEST_INVALID"],
    ["[]", {}, "REQUEST_INVALID"],
    ["null", {}, "REQUEST_INVALID"],
    ['"x"', {}, "REQUEST_INVALID"],
    ['{"namespace":7}', {}, "REQUEST_INVALID"],
    ['{"__proto__":{"namespace":"plays"}}', {}, "REQUEST_INVALID"],
    ['{"constructor":1}', {}, "REQUEST_INVALID"],
    [deep, {}, "REQUEST_INVALID"],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), {}, "REQUEST_INVALID"],
    ["{}", { "content-type": "text/plain" }, "REQUEST_INVALID"],
    [gzipSync("{}"), { "content-encoding": "gzip" }, "REQUEST_INVALID"],
    ["{}", { origin: "http://evil.example" }, "REQUEST_INVALID"],
    [Buffer.alloc(REQUEST_BYTES_MAX + 1, 0x20), {}, "REQUEST_TOO_LARGE"],
  ];
  for (const [body, headers, code] of cases) {
    equal((await told(await post(GET, body, headers))).code, code, String(body).slice(0, 40));
  }
  const twice = await told(await post(GET, '{"namespace":"x","namespace":"plays"}'));
  match(twice.message, /has the same field twice/);
  const unknown = await told(await post("/braid.v1.ControlService/GetNamespaces", "{}"));
  deepEqual([unknown.status, unknown.code], [404, "METHOD_NOT_FOUND"]);
  match(unknown.message, /did you mean POST \/braid\.v1\.ControlService\/GetNamespace\?/);
  const got = await told(await fetch(`${url}${GET}`));
  match(got.message, /did you mean POST/);
});

test("one error names the problems of the headers and of the request", async () => {
  const late = { "braid-timeout-ms": "soon" };
  const { message } = await told(await post(READ, '{"colour":"red"}', late));
  match(message, /^the timeout of the call is malformed; .*unknown field "colour".*timeSeriesId/);
  const changed = await told(await post(CREATE, '{"namespace":"other"}', late));
  match(changed.message, /^the timeout of the call is malformed; [^;]*$/);
  const headers = { ...late, "content-type": "text/plain", "content-encoding": "gzip" };
  const unread = await told(await post(READ, "{}", headers));
  match(unread.message, /^the timeout .*; the body must be JSON .*; send the body without/);
});

test("a malformed gRPC message is REQUEST_INVALID, never INTERNAL", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(GET, READ, WRITE, CREATE),
      fc.uint8Array({ minLength: 1, maxLength: 60 }),
      async (path, bytes) => {
        const { error, trailers } = await call(path, bytes);
        if (error === null) return;
        const [code] = trailers.get("braid-code");
        ok(code === "REQUEST_INVALID" || code === "NAMESPACE_NOT_FOUND", `${path} ${String(code)}`);
      },
    ),
    { numRuns: 60 },
  );
  const utf = await call(GET, Buffer.from([0x0a, 0x02, 0xc3, 0x28]));
  deepEqual(utf.trailers.get("braid-code"), ["REQUEST_INVALID"]);
  const cut = await call(READ, toBinary(ReadEventRecordsRequestSchema, readRequest).subarray(0, 9));
  deepEqual(cut.trailers.get("braid-code"), ["REQUEST_INVALID"]);
  const large = await call(WRITE, Buffer.alloc(REQUEST_BYTES_MAX + 1));
  deepEqual(large.trailers.get("braid-code"), ["REQUEST_TOO_LARGE"]);
  equal(large.error?.code, status.RESOURCE_EXHAUSTED);
  const nowhere = await call("/braid.v1.ControlService/Nothing", Buffer.alloc(0));
  equal(nowhere.error?.code, status.UNIMPLEMENTED);
});

test("bytes that are not HTTP get an answer, and the connection closes", async () => {
  const answer = await new Promise<string>((resolve) => {
    const socket = connectTcp(listener.port, "127.0.0.1", () => socket.write("NONSENSE\r\n\r\n"));
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString();
    });
    socket.on("close", () => resolve(text));
  });
  match(answer, /^HTTP\/1\.1 400 .*REQUEST_INVALID/s);
});

test("a peer that waits to be asked sends its body only if its request is admitted", async () => {
  const answerTo = (length: number): Promise<string> =>
    new Promise((resolve) => {
      const head = `POST ${GET} HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\nconnection: close\r\n`;
      const socket = connectTcp(listener.port, "127.0.0.1", () => {
        socket.write(`${head}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`);
      });
      let text = "";
      socket.on("data", (bytes) => {
        text += bytes.toString();
        if (text.endsWith("100 Continue\r\n\r\n")) socket.write('{"namespace":"plays"}');
      });
      socket.on("close", () => resolve(text));
    });
  match(await answerTo(21), /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
  match(await answerTo(REQUEST_BYTES_MAX), /^HTTP\/1\.1 413 /);
});

test("a connection whose first bytes arrive one by one works", async () => {
  const answer = await new Promise<string>((resolve) => {
    const request = `PUT /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`;
    let text = "";
    const socket = connectTcp({ port: listener.port, host: "127.0.0.1", noDelay: true }, () => {
      void (async () => {
        for (const character of request) {
          socket.write(character);
          await systemClock.sleep(1);
        }
      })();
    });
    socket.on("data", (bytes) => {
      text += bytes.toString();
    });
    socket.on("close", () => resolve(text));
  });
  match(answer, /METHOD_NOT_FOUND/);
});

test("health and reflection answer over gRPC", async () => {
  const health = await call("/grpc.health.v1.Health/Check", Buffer.alloc(0));
  deepEqual([...health.bytes], [8, 1]);
  for (const version of ["v1", "v1alpha"]) {
    const ask = (request: Buffer): Promise<Buffer> =>
      new Promise((resolve, reject) => {
        const stream = client.makeBidiStreamRequest(
          `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
          asIs,
          asIs,
        );
        stream.on("data", resolve);
        stream.on("error", reject);
        stream.write(request);
        stream.end();
      });
    const field = (number: number, text: string): Buffer =>
      Buffer.from([number * 8 + 2, text.length, ...Buffer.from(text)]);
    const services = (await ask(field(7, "*"))).toString("latin1");
    for (const name of [
      "braid.v1.TimeSeriesService",
      "braid.v1.ControlService",
      "grpc.health.v1.Health",
    ]) {
      ok(services.includes(name), name);
    }
    const described = (await ask(field(4, "braid.v1.TimeSeriesService"))).toString("latin1");
    for (const file of [
      "braid/v1/event.proto",
      "google/protobuf/timestamp.proto",
      "allow_partial",
    ]) {
      ok(described.includes(file), file);
    }
  }
});

test("the page of a process without methods says what it is and links its health", async () => {
  const worker = await open({ inFlightMax: 1, methods: [] });
  try {
    const response = await fetch(`http://127.0.0.1:${worker.port}/`);
    equal(response.status, 200);
    const html = await response.text();
    match(html, /<h1>Braid worker \d+\.\d+\.\d+<\/h1>/);
    for (const path of ["/healthz", "/readyz", "/metrics"]) {
      ok(html.includes(`href="${path}"`), path);
      equal((await fetch(`http://127.0.0.1:${worker.port}${path}`)).status, 200);
    }
  } finally {
    worker.close();
  }
});

test("the pages for operators answer", async () => {
  const text = await (await fetch(`${url}/metrics`)).text();
  match(
    text,
    /braid_requests_total\{method="GetNamespace",code="NAMESPACE_NOT_FOUND",namespace=""\}/,
  );
  match(text, /braid_request_seconds_bucket/);
  ok(!text.includes('namespace="nope"'));
  equal((await fetch(`${url}/healthz`)).status, 200);
  equal((await fetch(`${url}/readyz`)).status, 200);
  const docs = await fetch(`${url}/docs`);
  match(docs.headers.get("content-security-policy") ?? "", /default-src 'none'/);
  const html = await docs.text();
  for (const name of Object.keys(EXAMPLES)) ok(html.includes(`id="${name}"`), name);
  const api = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, { post: { responses: object } }>;
    components: Record<string, Record<string, unknown>>;
  };
  equal(Object.keys(api.paths).length, Object.keys(EXAMPLES).length);
  const refs = JSON.stringify(api).matchAll(/"#\/components\/(\w+)\/([\w.]+)"/g);
  for (const [, group = "", name = ""] of refs) {
    ok(name in (api.components[group] ?? {}), name);
  }
});
