/**
 * Random calls against one port: valid requests of every method with random damage, over HTTP/1.1,
 * HTTP/2, gRPC and Connect, and raw frames and fragments that no library sends.
 *
 * Call number n of a seed is the same in every run, apart from the order in which calls overlap.
 */
import { once } from "node:events";
import { connect } from "node:http2";
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { fromJson, toBinary } from "@bufbuild/protobuf";
import type { JsonValue } from "@bufbuild/protobuf";
import { EXAMPLES } from "../../src/api/examples.ts";
import { ControlService } from "../../src/gen/braid/v1/control_service_pb.js";
import { TimeSeriesService } from "../../src/gen/braid/v1/time_series_service_pb.js";
import { SeededRandom } from "../sim/seeded-random.ts";
import {
  FLAG,
  frame,
  FRAME,
  headerBlock,
  message,
  openRaw,
  PREFACE,
  sent,
  settings,
} from "../support/raw-http2.ts";
import { damaged, oddJson } from "./mutate.ts";

export interface FuzzOptions {
  readonly calls: number;
  readonly seed: number;
  /** The number of the first call. */
  readonly from?: number;
  /** Calls at a time. */
  readonly atOnce?: number;
  readonly onProgress?: (done: number) => void;
}

export type FuzzKind = "grpc" | "connect" | "json" | "http1" | "frames";

/** How many calls there were of each kind, and how many had an answer. */
export type FuzzReport = Record<FuzzKind, { calls: number; answered: number }>;

/** How often each kind is called, by how often it stands here. */
const KINDS: readonly FuzzKind[] = [
  "grpc",
  "grpc",
  "connect",
  "connect",
  "json",
  "json",
  "http1",
  "frames",
];

interface Request {
  readonly path: string;
  readonly json: Record<string, unknown>;
  readonly binary: Uint8Array;
}

const REQUESTS: readonly Request[] = [...TimeSeriesService.methods, ...ControlService.methods].map(
  ({ name, input, parent }) => {
    const json = EXAMPLES[name]?.request ?? {};
    const binary = toBinary(input, fromJson(input, json as JsonValue));
    return { path: `/${parent.typeName}/${name}`, json, binary };
  },
);

const OTHER_PATHS = [
  "/healthz",
  "/readyz",
  "/metrics",
  "/docs",
  "/openapi.json",
  "/",
  "",
  "*",
  "/grpc.health.v1.Health/Check",
  "/grpc.health.v1.Health/Watch",
  "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
  "/braid.v1.TimeSeriesService/",
  "/../../etc/passwd?x=%00",
];

/** A call that is not over by then is left, as an impatient client would. */
const PATIENCE_MS = 2_000;
const ANSWER_MS = 300;

export async function fuzzPort(url: string, options: FuzzOptions): Promise<FuzzReport> {
  const { calls, seed, from = 0, atOnce = 24, onProgress } = options;
  const report: FuzzReport = {
    grpc: { calls: 0, answered: 0 },
    connect: { calls: 0, answered: 0 },
    json: { calls: 0, answered: 0 },
    http1: { calls: 0, answered: 0 },
    frames: { calls: 0, answered: 0 },
  };
  let next = from;
  const work = async (): Promise<void> => {
    const port = new FuzzedPort(url);
    while (next < from + calls) {
      const call = next++;
      const random = new SeededRandom(Math.imul(seed + 1, 0x9e3779b1) ^ call);
      // The first numbers of neighbouring seeds resemble each other.
      for (let i = 0; i < 8; i++) random.fraction();
      const kind = random.one<FuzzKind>(KINDS);
      report[kind].calls++;
      if (await port.call(kind, random)) report[kind].answered++;
      onProgress?.(next - from);
    }
    port.close();
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return report;
}

/** One attacker: its calls follow each other. */
class FuzzedPort {
  readonly #url: string;
  #session: ClientHttp2Session | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  /** Returns whether the server answered with anything. */
  async call(kind: FuzzKind, random: SeededRandom): Promise<boolean> {
    switch (kind) {
      case "grpc":
        return this.#overHttp2(random, grpcRequest(random));
      case "connect": {
        const request = connectRequest(random);
        return random.chance(0.5)
          ? this.#overHttp2(random, request)
          : this.#raw(random, http1Text(random, request));
      }
      case "json":
        return random.chance(0.3)
          ? this.#overHttp2(random, jsonRequest(random))
          : this.#raw(random, http1Text(random, jsonRequest(random)));
      case "http1":
        return this.#raw(random, damaged(http1Pipeline(random), random, 6));
      case "frames":
        return this.#raw(random, http2Frames(random));
    }
  }

  close(): void {
    this.#session?.destroy();
  }

  async #overHttp2(random: SeededRandom, request: Sent): Promise<boolean> {
    if (this.#session === undefined || this.#session.destroyed || this.#session.closed) {
      this.#session = connect(this.#url);
      this.#session.on("error", () => undefined);
    }
    const session = this.#session;
    if (random.chance(0.02)) session.close();
    let stream;
    try {
      stream = session.request(request.headers);
    } catch {
      return false; // Node's client refuses some of these headers itself.
    }
    let answered = false;
    stream.on("error", () => undefined).on("response", () => (answered = true));
    const leaves = random.below(10);
    if (leaves !== 0) stream.resume();
    if (leaves === 1) stream.write(request.body.subarray(0, random.below(request.body.length + 1)));
    else stream.end(request.body);
    if (leaves <= 2) {
      await turns(random.below(20));
      stream.close(random.below(14));
      if (random.chance(0.05)) session.destroy();
    }
    await closedWithin(stream);
    return answered;
  }

  async #raw(random: SeededRandom, bytes: Buffer): Promise<boolean> {
    const socket = await openRaw(this.#url, random.chance(0.8));
    let answered = false;
    socket.on("data", () => (answered = true));
    const cut = random.chance(0.3) ? random.below(bytes.length + 1) : bytes.length;
    await sent(socket, bytes.subarray(0, cut));
    if (cut < bytes.length) {
      await turns(random.below(5));
      await sent(socket, bytes.subarray(cut));
    }
    await leave(socket, random);
    return answered;
  }
}

interface Sent {
  readonly headers: Record<string, string | string[]>;
  readonly body: Buffer;
}

function grpcRequest(random: SeededRandom): Sent {
  const { path, binary } = random.one(REQUESTS);
  const bytes = random.chance(0.3) ? Buffer.from(binary) : damaged(binary, random);
  const zipped = random.chance(0.1);
  const framed = message(zipped ? gzipSync(bytes) : bytes, zipped ? 1 : random.one([0, 0, 0, 2]));
  const body = random.chance(0.1) ? damaged(framed, random) : framed;
  return {
    headers: {
      ":method": "POST",
      ":path": random.chance(0.05) ? random.one(OTHER_PATHS) : path,
      "content-type": random.one(["application/grpc", "application/grpc+proto"]),
      te: "trailers",
      ...(zipped && { "grpc-encoding": "gzip" }),
      ...oddHeaders(random, [
        ["grpc-timeout", ["1m", "1S", "0n", "99999999H", "x", "-1S", ""]],
        ["grpc-encoding", ["identity", "gzip", "br", ""]],
        ["braid-request-id", ["a", "\u00e9", "x".repeat(300)]],
        ["braid-operator", ["me", "%00", "y".repeat(2_000)]],
        ["x-data-bin", ["AAA", "!"]],
      ]),
    },
    body: random.chance(0.02) ? Buffer.concat([body, body]) : body,
  };
}

function connectRequest(random: SeededRandom): Sent {
  const { path, binary, json } = random.one(REQUESTS);
  const codec = random.one(["proto", "proto", "json"]);
  const sound = codec === "proto" ? Buffer.from(binary) : Buffer.from(JSON.stringify(json));
  const bytes = random.chance(0.3) ? sound : damaged(sound, random);
  const streams = random.chance(0.4);
  const zipped = random.chance(0.15);
  const packed = zipped ? gzipSync(bytes) : bytes;
  const framed = streams ? message(packed, zipped ? 1 : random.one([0, 0, 0, 2, 3])) : packed;
  const got = random.chance(0.1);
  const encoding = streams ? "connect-content-encoding" : "content-encoding";
  return {
    headers: {
      ":method": got
        ? "GET"
        : random.chance(0.03)
          ? random.one(["PUT", "OPTIONS", "HEAD"])
          : "POST",
      ":path": got ? `${path}?${connectQuery(packed, codec, random)}` : path,
      "content-type": `application/${streams ? "connect+" : ""}${codec}`,
      ...(zipped && { [encoding]: "gzip" }),
      ...oddHeaders(random, [
        ["connect-protocol-version", ["1", "1", "2", ""]],
        ["connect-timeout-ms", ["0", "1", "50", "9999999999", "99999999999", "-1", "soon"]],
        ["content-encoding", ["identity", "gzip", "br", "gzip, gzip"]],
        ["accept-encoding", ["gzip", "gzip;q=0", "*", "br;q=1.0, gzip;q=0.5", ";;,,"]],
        ["connect-content-encoding", ["identity", "gzip", "zstd", ""]],
        ["connect-accept-encoding", ["gzip", "identity", "x".repeat(500)]],
        ["sec-fetch-site", ["cross-site", "none"]],
      ]),
    },
    body: random.chance(0.1) ? damaged(framed, random) : framed,
  };
}

/** What a path may carry: some of it is too long for the server, and some is no parameter. */
function connectQuery(bytes: Buffer, codec: string, random: SeededRandom): string {
  const text = random.chance(0.5) ? bytes.toString("base64url") : bytes.toString("base64");
  const parameters = [
    `connect=${random.one(["v1", "v1", "v1", "v2", ""])}`,
    `encoding=${random.chance(0.9) ? codec : "xml"}`,
    `message=${encodeURIComponent(text)}`,
    `base64=${random.one(["1", "1", "1", "0", "true"])}`,
    ...(random.chance(0.2) ? [`compression=${random.one(["gzip", "identity", "br"])}`] : []),
    ...(random.chance(0.1) ? ["%", "%zz=%ff", "&&=&", "message"] : []),
  ];
  return parameters.filter(() => random.chance(0.97)).join("&");
}

function jsonRequest(random: SeededRandom): Sent {
  const { path, json } = random.one(REQUESTS);
  const text = JSON.stringify(random.chance(0.3) ? json : oddJson(json, random)) ?? "";
  const bytes = Buffer.from(text);
  return {
    headers: {
      ":method": random.chance(0.05)
        ? random.one(["GET", "PUT", "OPTIONS", "HEAD", "DELETE"])
        : "POST",
      ":path": random.chance(0.1) ? random.one(OTHER_PATHS) : path,
      "content-type": random.chance(0.95) ? "application/json" : "text/plain",
      ...oddHeaders(random, [
        ["braid-timeout-ms", ["0", "1", "50", "99999999999", "-1", "soon"]],
        ["content-encoding", ["identity", "gzip"]],
        ["expect", ["100-continue", "200-ok"]],
        ["origin", ["http://evil.example", "null"]],
      ]),
    },
    body: random.chance(0.5) ? damaged(bytes, random) : bytes,
  };
}

function oddHeaders(
  random: SeededRandom,
  choices: readonly (readonly [string, readonly string[]])[],
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, values] of choices) {
    if (random.chance(0.08)) headers[name] = random.one(values);
  }
  return headers;
}

function http1Text(random: SeededRandom, { headers, body }: Sent): Buffer {
  const lines = [`${String(headers[":method"])} ${String(headers[":path"])} HTTP/1.1`];
  lines.push(`host: ${random.one(["127.0.0.1", "127.0.0.1", "localhost", "evil.example", ""])}`);
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(":")) lines.push(`${name}: ${String(value)}`);
  }
  if (random.chance(0.2)) {
    const at = random.below(body.length + 1);
    const chunks = [body.subarray(0, at), body.subarray(at), Buffer.alloc(0)];
    const chunked = chunks.flatMap((chunk) => [
      Buffer.from(`${chunk.length.toString(16)}\r\n`),
      chunk,
      Buffer.from("\r\n"),
    ]);
    const head = Buffer.from(`${lines.join("\r\n")}\r\ntransfer-encoding: chunked\r\n\r\n`);
    return Buffer.concat([head, ...chunked]);
  }
  const length = random.chance(0.9) ? body.length : random.below(2 * body.length + 2);
  return Buffer.concat([
    Buffer.from(`${lines.join("\r\n")}\r\ncontent-length: ${length}\r\n\r\n`, "latin1"),
    body,
  ]);
}

function http1Pipeline(random: SeededRandom): Buffer {
  const count = 1 + random.below(4);
  return Buffer.concat(Array.from({ length: count }, () => http1Text(random, jsonRequest(random))));
}

/** A plausible conversation in frames, then damage to some of them. */
function http2Frames(random: SeededRandom): Buffer {
  const frames: Buffer[] = [PREFACE, settings(oddSettings(random))];
  const count = 1 + random.below(30);
  for (let i = 0; i < count; i++) {
    const made = oddFrame(random);
    frames.push(random.chance(0.15) ? damaged(made, random, 3) : made);
  }
  return Buffer.concat(frames);
}

function oddSettings(random: SeededRandom): [number, number][] {
  return Array.from({ length: random.below(3) }, () => [
    1 + random.below(8),
    random.one([0, 1, 100, 16_384, 65_535, 0x7fff_ffff, 0xffff_ffff]),
  ]);
}

function oddFrame(random: SeededRandom): Buffer {
  const stream = random.one([0, 1, 1, 3, 3, 5, 7, 2, 9, 0x7fff_ffff]);
  const { path, binary } = random.one(REQUESTS);
  switch (random.below(12)) {
    case 0:
    case 1:
    case 2: {
      const type = random.one([
        "application/grpc",
        "application/json",
        "application/proto",
        "application/connect+proto",
        "text/plain",
      ]);
      const block = headerBlock({
        ":method": random.one(["POST", "POST", "POST", "GET", "CONNECT"]),
        ":scheme": "http",
        ":path": random.chance(0.1) ? random.one(OTHER_PATHS) : path,
        ":authority": "127.0.0.1",
        "content-type": type,
        ...oddHeaders(random, [["content-length", ["0", "5", "99999999999"]]]),
      });
      const flags = random.one([FLAG.END_HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, 0]);
      return frame(FRAME.HEADERS, flags, stream, block);
    }
    case 3:
    case 4: {
      const bytes = damaged(message(binary), random, 2);
      return frame(FRAME.DATA, random.one([0, FLAG.END_STREAM, 8]), stream, bytes);
    }
    case 5:
      return frame(FRAME.RST_STREAM, 0, stream, number32(random.below(16)));
    case 6:
      return settings(oddSettings(random));
    case 7:
      return frame(FRAME.PING, random.one([0, FLAG.ACK]), 0, Buffer.from(random.bytes(8)));
    case 8:
      return frame(
        FRAME.WINDOW_UPDATE,
        0,
        stream,
        number32(random.one([0, 1, 65_535, 0x7fff_ffff])),
      );
    case 9:
      return frame(FRAME.CONTINUATION, random.one([0, 4]), stream, headerBlock({ "x-more": "y" }));
    case 10:
      return frame(FRAME.GOAWAY, 0, 0, Buffer.from(random.bytes(8)));
    default:
      return frame(random.below(256), random.below(256), stream, Buffer.from(random.bytes(9)));
  }
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

/** Leaves as clients do: at once, in order, or when the server has answered. */
async function leave(socket: Socket, random: SeededRandom): Promise<void> {
  const how = random.below(4);
  if (how === 0) socket.resetAndDestroy();
  else if (how === 1) {
    await turns(random.below(10));
    socket.destroy();
  } else {
    if (how === 2) socket.end();
    // Most answers come at once; the rest is left waiting.
    await Promise.race([once(socket, "data").catch(() => undefined), pause(ANSWER_MS)]);
    socket.destroy();
  }
}

async function closedWithin(stream: ClientHttp2Stream): Promise<void> {
  if (stream.destroyed) return;
  const patience = setTimeout(() => stream.destroy(), PATIENCE_MS);
  await once(stream, "close").catch(() => undefined);
  clearTimeout(patience);
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}
