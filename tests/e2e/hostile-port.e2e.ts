/**
 * Attacks on the port: frames and requests that no client library sends. The process survives all
 * of them, serves other callers, and releases all memory.
 */
import { equal, match, ok } from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { metricOf, until } from "../support/conditions.ts";
import { openRawCall, trailersOf } from "../support/raw-grpc.ts";
import {
  FLAG,
  FRAME,
  frame,
  grpcHeaders,
  headerBlock,
  countFrames,
  INITIAL_WINDOW_SIZE,
  message,
  openRaw,
  PREFACE,
  sent,
  settings,
} from "../support/raw-http2.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

const READ = "/braid.v1.TimeSeriesService/ReadEventRecords";
const BLOCK = "/braid.v1.ControlService/BlockIds";
const WRITE = "/braid.v1.TimeSeriesService/WriteEventRecordsSync";

let server: StartedServer;
let pid: number;

before(async () => {
  server = await startServer({ env: { BRAID_SERVER_CONNECTIONS: "64" } });
  ({ pid } = server);
  await post("/braid.v1.ControlService/CreateNamespace", { namespace: "plays" });
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

async function post(path: string, body: object): Promise<Response> {
  return fetch(`${server.url}${path}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
}

/** The same process still answers and holds no bytes of the attack. */
async function assertUnharmed(): Promise<void> {
  equal((await fetch(`${server.url}/healthz`)).status, 200);
  equal(server.pid, pid);
  const now = new Date();
  const read = await post(READ, {
    namespace: "plays",
    timeSeriesId: "p",
    timeInterval: { start: "2020-01-01T00:00:00Z", end: now.toISOString() },
  });
  equal(read.status, 200, await read.text());
  await until(async () => (await metricOf(server.url, "braid_requests_in_flight")) === 0);
  equal(await metricOf(server.url, "braid_request_bytes_in_flight"), 0);
}

test("a request that is reset in its own packet ends only itself", async () => {
  const paths = ["/nowhere", READ, "/grpc.health.v1.Health/Check", "/healthz", ""];
  const types = [
    "application/grpc",
    "application/json",
    "application/proto",
    "application/connect+proto",
    "text/plain",
    "application/grpc+json",
  ];
  for (const path of paths) {
    for (const type of types) {
      const socket = await openRaw(server.url);
      const reset = Buffer.alloc(4);
      await sent(
        socket,
        Buffer.concat([
          PREFACE,
          settings(),
          frame(FRAME.HEADERS, FLAG.END_HEADERS, 1, grpcHeaders(path, type)),
          frame(FRAME.RST_STREAM, 0, 1, reset),
          frame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, 3, grpcHeaders(path, type)),
        ]),
      );
      socket.destroy();
    }
  }
  await assertUnharmed();
});

test("Z12: floods of resets, pings, settings and continuations end only their own connection", async () => {
  const ping = frame(FRAME.PING, 0, 0, Buffer.alloc(8));
  const floods: readonly ((n: number) => Buffer)[] = [
    (n) =>
      Buffer.concat([
        frame(FRAME.HEADERS, FLAG.END_HEADERS, n * 2 + 1, grpcHeaders(READ)),
        frame(FRAME.RST_STREAM, 0, n * 2 + 1, Buffer.alloc(4)),
      ]),
    () => ping,
    () => settings([[INITIAL_WINDOW_SIZE, 65_535]]),
    (n) =>
      n === 0
        ? frame(FRAME.HEADERS, 0, 1, grpcHeaders(READ))
        : frame(FRAME.CONTINUATION, 0, 1, headerBlock({ [`x-${n}`]: "y".repeat(1_000) })),
  ];
  for (const flood of floods) {
    // The attacker reads no answers: they pile up at the server.
    const socket = await openRaw(server.url, false);
    await sent(socket, Buffer.concat([PREFACE, settings()]));
    for (let batch = 0; batch < 40 && !socket.destroyed; batch++) {
      const frames = Array.from({ length: 500 }, (_, i) => flood(batch * 500 + i));
      socket.write(Buffer.concat(frames));
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.destroy();
  }
  await assertUnharmed();
});

test("Z11: a small request that unpacks to millions of fields is refused before it is decoded", async () => {
  const empty = (tag: number, count: number): Buffer => {
    const bytes = Buffer.alloc(count * 2);
    for (let i = 0; i < count; i++) bytes[i * 2] = tag;
    return bytes;
  };
  const cases: [string, Buffer][] = [
    [READ, empty(0x22, 8_000_000)],
    [READ, empty(0x22, 900_000)],
    [BLOCK, empty(0x12, 8_000_000)],
    [WRITE, empty(0x12, 8_000_000)],
  ];
  for (const [path, bytes] of cases) {
    const { session, stream } = openRawCall(server.url, path.slice(1), Buffer.alloc(0));
    stream.on("error", () => undefined);
    stream.close();
    session.close();
    const call = rawCompressed(path, gzipSync(bytes));
    const said = await trailersOf(call);
    equal(said["braid-code"], "REQUEST_TOO_LARGE", path);
    const overConnect = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/proto", "content-encoding": "gzip" },
      body: new Uint8Array(gzipSync(bytes)),
    });
    equal(overConnect.headers.get("braid-code"), "REQUEST_TOO_LARGE", path);
  }
  const filters = Array.from({ length: 30_000 }, () => "{}").join(",");
  const json = await fetch(`${server.url}${READ}`, {
    method: "POST",
    body: `{"namespace":"plays","eventFilters":[${filters}]}`,
    headers: { "content-type": "application/json" },
  });
  equal(json.status, 413);
  // An event with half a million empty items, of which none may be decoded.
  const namespace = varintField(0x0a, Buffer.from("plays"));
  const write = Buffer.concat([namespace, varintField(0x12, empty(0x22, 524_000))]);
  const said = await trailersOf(openRawCall(server.url, WRITE.slice(1), write));
  equal(said["grpc-status"], "0");
  await assertUnharmed();
});

function rawCompressed(path: string, bytes: Buffer): ReturnType<typeof openRawCall> {
  const { session, stream } = openRawCall(server.url, "nowhere", Buffer.alloc(0));
  stream.on("error", () => undefined);
  stream.resume();
  const call = session.request({
    ":path": path,
    ":method": "POST",
    "content-type": "application/grpc",
    "grpc-encoding": "gzip",
    te: "trailers",
  });
  call.end(message(bytes, 1));
  return { session, stream: call };
}

function varintField(tag: number, bytes: Buffer): Buffer {
  const length: number[] = [];
  let rest = bytes.length;
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128);
  length.push(rest);
  return Buffer.concat([Buffer.from([tag, ...length]), bytes]);
}

test("answers that no client reads block no other caller, and are cut off", async () => {
  const times = Array.from({ length: 400 }, (_, i) => Date.now() - 60_000 + i);
  const events = times.map((time, i) => ({
    timeSeriesId: "wide",
    eventTime: new Date(time).toISOString(),
    eventId: `e-${i}`,
    eventItems: [{ eventItemKey: "k", eventItemValue: Buffer.alloc(600).toString("base64") }],
  }));
  equal((await post(WRITE, { namespace: "plays", events })).status, 200);
  const query = Buffer.concat([
    varintField(0x0a, Buffer.from("plays")),
    varintField(0x12, Buffer.from("wide")),
    // From 1970 to 2100, in seconds.
    varintField(
      0x1a,
      Buffer.concat([
        varintField(0x0a, Buffer.alloc(0)),
        varintField(0x12, Buffer.from([0x08, 0x80, 0x9c, 0xf0, 0xf4, 0x0f])),
      ]),
    ),
    Buffer.from([0x30, 0xe8, 0x07]),
  ]);
  const sockets = [];
  for (let connection = 0; connection < 5; connection++) {
    const socket = await openRaw(server.url, false);
    sockets.push(socket);
    await sent(socket, Buffer.concat([PREFACE, settings([[INITIAL_WINDOW_SIZE, 0]])]));
    for (let i = 0; i < 250; i++) {
      const stream = i * 2 + 1;
      socket.write(frame(FRAME.HEADERS, FLAG.END_HEADERS, stream, grpcHeaders(READ)));
      socket.write(frame(FRAME.DATA, FLAG.END_STREAM, stream, message(query)));
    }
  }
  await until(async () => (await metricOf(server.url, "braid_requests_in_flight")) > 100);
  // The server still serves others, as soon as it has read what the attackers asked for.
  await until(async () => {
    const read = await post(READ, {
      namespace: "plays",
      timeSeriesId: "wide",
      timeInterval: { start: "2020-01-01T00:00:00Z", end: "2100-01-01T00:00:00Z" },
    });
    await read.arrayBuffer();
    ok(read.status === 200 || read.status === 429, `${read.status}`);
    return read.status === 200;
  });
  ok((await metricOf(server.url, "braid_requests_in_flight")) > 0, "their answers still wait");
  await until(async () => (await metricOf(server.url, "braid_requests_in_flight")) === 0);
  for (const socket of sockets) socket.destroy();
  await assertUnharmed();
});

test("Connect streams that no client reads block no other caller, and end with their connection", async () => {
  // Each is larger than what the system holds for a socket that nobody reads.
  const value = Buffer.alloc(500_000).toString("base64");
  for (let i = 0; i < 24; i++) {
    const event = {
      timeSeriesId: "large",
      eventTime: new Date(Date.now() - 30_000 + i).toISOString(),
      eventId: `e-${i}`,
      eventItems: [{ eventItemKey: "k", eventItemValue: value }],
    };
    equal((await post(WRITE, { namespace: "plays", events: [event] })).status, 200);
  }
  const body = message(
    Buffer.from(
      JSON.stringify({
        namespace: "plays",
        timeSeriesId: "large",
        timeInterval: { start: "2020-01-01T00:00:00Z", end: "2100-01-01T00:00:00Z" },
        pageSize: 10_000,
      }),
    ),
  );
  const head = [
    "POST /braid.v1.TimeSeriesService/StreamEventRecords HTTP/1.1",
    "host: 127.0.0.1",
    "content-type: application/connect+json",
    `content-length: ${body.length}`,
  ];
  const sockets = await Promise.all(Array.from({ length: 8 }, () => openRaw(server.url, false)));
  for (const socket of sockets) {
    await sent(socket, Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]));
  }
  await until(async () => (await metricOf(server.url, "braid_requests_in_flight")) === 8);
  const others = await post(READ, {
    namespace: "plays",
    timeSeriesId: "p",
    timeInterval: { start: "2020-01-01T00:00:00Z", end: "2100-01-01T00:00:00Z" },
  });
  equal(others.status, 200, await others.text());
  for (const socket of sockets) socket.destroy();
  await assertUnharmed();
});

test("pages that no client reads are cut off", async () => {
  const get = headerBlock({
    ":method": "GET",
    ":scheme": "http",
    ":path": "/openapi.json",
    ":authority": "127.0.0.1",
  });
  const socket = await openRaw(server.url, false);
  const resets = countFrames(socket, FRAME.RST_STREAM);
  const flags = FLAG.END_HEADERS | FLAG.END_STREAM;
  const gets = Array.from({ length: 200 }, (_, i) => frame(FRAME.HEADERS, flags, i * 2 + 1, get));
  await sent(socket, Buffer.concat([PREFACE, settings([[INITIAL_WINDOW_SIZE, 0]]), ...gets]));
  // An answer that has not begun to leave still counts.
  await until(() => resets.count === 200);
  socket.destroy();
  await assertUnharmed();
});

test("health checks that are never sent keep out no others", async () => {
  const check = "/grpc.health.v1.Health/Check";
  const sockets = [];
  for (let connection = 0; connection < 20; connection++) {
    const socket = await openRaw(server.url);
    sockets.push(socket);
    const opened = Array.from({ length: 200 }, (_, i) =>
      frame(FRAME.HEADERS, FLAG.END_HEADERS, i * 2 + 1, grpcHeaders(check)),
    );
    await sent(socket, Buffer.concat([PREFACE, settings(), ...opened]));
  }
  const said = await trailersOf(openRawCall(server.url, check.slice(1), Buffer.alloc(0)));
  equal(said["grpc-status"], "0");
  for (const socket of sockets) socket.destroy();
  await assertUnharmed();
});

test("O4, Z12: half-sent requests count with the bytes received, and are released when their sender leaves", async () => {
  const half = Buffer.alloc(1_000_000);
  const sockets = await Promise.all(Array.from({ length: 40 }, () => openRaw(server.url)));
  for (const socket of sockets) {
    await sent(
      socket,
      Buffer.concat([
        Buffer.from(
          `POST ${WRITE} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 16000000\r\n\r\n`,
        ),
        half,
      ]),
    );
  }
  await until(
    async () => (await metricOf(server.url, "braid_request_bytes_in_flight")) >= 40_000_000,
  );
  for (const socket of sockets) socket.destroy();
  await assertUnharmed();
});

test("O5: idle connections are closed for new ones, and health answers when there is no room", async () => {
  const idle = await Promise.all(Array.from({ length: 200 }, () => openRaw(server.url)));
  for (const socket of idle) {
    await sent(socket, Buffer.concat([PREFACE, settings()]));
  }
  equal((await fetch(`${server.url}/healthz`)).status, 200);
  for (const socket of idle) socket.destroy();
  await assertUnharmed();
});

test("Z13: a request that names another host is refused on every route", async () => {
  for (const [verb, path] of [
    ["GET", "/metrics"],
    ["GET", "/openapi.json"],
    ["GET", "/healthz"],
    ["POST", READ],
  ] as const) {
    const socket = await openRaw(server.url, false);
    const head = `${verb} ${path} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n`;
    socket.write(`${head}content-type: application/json\r\ncontent-length: 2\r\n\r\n{}`);
    let text = "";
    socket.on("data", (bytes) => (text += String(bytes)));
    await once(socket, "close");
    match(text, /^HTTP\/1\.1 400 .*allowed_hosts/s, path);
  }
});

test("Z9: JSON that is nested deeply, or holds very many values, is refused before it is decoded", async () => {
  const deep = (open: string, close: string): string =>
    open.repeat(200_000) + close.repeat(200_000);
  for (const [path, body, status] of [
    [WRITE, `{"namespace":"plays","events":${deep("[", "]")}}`, 400],
    [WRITE, `{"namespace":"plays","more":${deep('{"a":', "}").replace(":}", ":1}")}}`, 400],
    [READ, `{"namespace":"plays","filters":${deep("[", "]")}}`, 400],
    [WRITE, `{"namespace":"plays","events":[${"0,".repeat(2_000_000)}0]}`, 413],
  ] as const) {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${server.url}${path}`, { method: "POST", body, headers });
    equal(answer.status, status, await answer.text());
  }
  await assertUnharmed();
});

test("meaningless requests have a defined answer", async () => {
  const options = await fetch(`${server.url}${READ}`, { method: "OPTIONS" });
  equal(options.status, 204);
  equal(options.headers.get("allow"), "POST, OPTIONS");
  const late = await fetch(`${server.url}${READ}`, {
    method: "POST",
    headers: { "braid-timeout-ms": "soon", "content-type": "application/json" },
    body: "{}",
  });
  equal(late.status, 400);
  const twice = await post(READ, {});
  ok(twice.status === 400);
  const head = await fetch(`${server.url}/healthz`, { method: "HEAD" });
  equal(head.status, 200);
  equal(await head.text(), "");
});

test("random frames and fragments of HTTP/1 harm no other connection and leave nothing behind", async () => {
  // A fixed seed, so that a failure can be reproduced.
  let state = 42;
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
    return state % below;
  };
  const randomBytes = (length: number): Buffer =>
    Buffer.from(Array.from({ length }, () => random(256)));
  for (let round = 0; round < 150; round++) {
    const socket = await openRaw(server.url);
    if (random(2) === 0) {
      const frames = Array.from({ length: 30 }, () => {
        const payload =
          random(3) === 0 ? grpcHeaders(random(2) === 0 ? READ : "/x") : randomBytes(random(60));
        return frame(random(11), random(256), random(8), payload);
      });
      await sent(socket, Buffer.concat([PREFACE, settings(), ...frames]));
    } else {
      const text = `POST ${READ} HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n`;
      const cut = text.slice(0, random(text.length));
      await sent(socket, Buffer.concat([Buffer.from(cut), randomBytes(random(40))]));
    }
    socket.destroy();
  }
  await assertUnharmed();
});
