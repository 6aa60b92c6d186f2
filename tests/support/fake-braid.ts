/**
 * A server that answers as a test says, for tests of the client and the CLI alone: real sockets, no
 * storage. And a timing whose waits take no time.
 *
 * Tests see requests and give answers as JSON. The server speaks what the request speaks: JSON, or
 * Connect with protobuf.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { create, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import type { ConnectOptions } from "../../client/connect.ts";
import type { Timing } from "../../client/timing.ts";
import { TimeSeriesService } from "../../src/gen/braid/v1/time_series_service_pb.js";
import { ErrorInfoSchema } from "../../src/gen/google/rpc/error_details_pb.js";

/** The ways that the client has to a server; the first is the default under Node. */
export const CLIENT_WIRES: readonly (readonly [suffix: string, options: ConnectOptions])[] = [
  ["", {}],
  [" (binary over fetch)", { fetch: (input, init) => fetch(input, init) }],
  [" (JSON)", { protocol: "json" }],
];

export interface FakeRequest {
  /** The last part of the path. */
  readonly method: string;
  readonly body: Record<string, unknown>;
  readonly raw: IncomingMessage;
}

/** Answers with JSON if it returns a value; undefined means that it answered by itself. */
export type Answer = (request: FakeRequest, response: ServerResponse) => unknown;

export interface FakeBraid {
  readonly url: string;
  readonly requests: FakeRequest[];
  [Symbol.asyncDispose](): Promise<void>;
}

export async function fakeBraid(answer: Answer): Promise<FakeBraid> {
  const requests: FakeRequest[] = [];
  const server = createServer((raw, response) => {
    (async () => {
      const method = (raw.url ?? "").split("/").at(-1) ?? "";
      const request = { method, body: bodyOf(raw, await buffer(raw)), raw };
      requests.push(request);
      response.setHeader("content-type", raw.headers["content-type"] ?? "");
      const result = await answer(request, response);
      if (result === undefined) return;
      response.end(isBinary(raw) ? encoded(raw, result) : JSON.stringify(result));
    })().catch((error: unknown) => {
      // The test that sent the request fails by it.
      response.writeHead(400, { "content-type": "text/plain" }).end(String(error));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function isBinary(raw: IncomingMessage): boolean {
  return (raw.headers["content-type"] ?? "").endsWith("proto");
}

function schemaOf(raw: IncomingMessage): DescMethod {
  const name = (raw.url ?? "").split("/").at(-1);
  const method = TimeSeriesService.methods.find((each) => each.name === name);
  if (method === undefined) throw new Error(`no such method: ${raw.url}`);
  return method;
}

function bodyOf(raw: IncomingMessage, bytes: Buffer): Record<string, unknown> {
  if (!isBinary(raw)) return JSON.parse(bytes.toString()) as Record<string, unknown>;
  const { input, methodKind } = schemaOf(raw);
  const message = methodKind === "unary" ? bytes : bytes.subarray(5);
  const json = toJson(input, fromBinary(input, message), { alwaysEmitImplicit: true });
  return json as Record<string, unknown>;
}

function encoded(raw: IncomingMessage, answer: unknown): Uint8Array {
  const { output } = schemaOf(raw);
  // Every answer says what it cost.
  const whole = { responseContext: [{}], ...(answer as JsonObject) };
  const message = fromJson(output, whole, { ignoreUnknownFields: true });
  return toBinary(output, message);
}

/** A page of a stream, as its request wants it: a line of JSON, or a message behind a prefix. */
export function streamedPage(response: ServerResponse, page: object): Buffer {
  const { req: raw } = response;
  if (!isBinary(raw)) return Buffer.from(`${JSON.stringify({ result: page })}\n`);
  return envelope(0, encoded(raw, page));
}

/** What ends a stream: nothing in JSON if there is no error. */
export function streamEnd(
  response: ServerResponse,
  error?: { code: string; message: string },
): Buffer {
  const { req: raw } = response;
  if (!isBinary(raw))
    return Buffer.from(error === undefined ? "" : `${JSON.stringify({ error })}\n`);
  const end = error === undefined ? {} : { error: connectError(error.code, error.message) };
  return envelope(2, Buffer.from(JSON.stringify(end)));
}

export function envelope(flags: number, message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flags;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** An error in Connect's shape; Connect's own code does not matter to the client. */
function connectError(reason: string, message: string, about: object = {}): object {
  const metadata = Object.fromEntries(
    Object.entries(about).map(([key, value]) => [key, [value].flat().join("; ")]),
  );
  const info = create(ErrorInfoSchema, { reason, domain: "braid", metadata });
  const value = Buffer.from(toBinary(ErrorInfoSchema, info)).toString("base64");
  const details = [{ type: "google.rpc.ErrorInfo", value: value.replaceAll("=", "") }];
  return { code: "unknown", message, details };
}

export function refuse(
  response: ServerResponse,
  status: number,
  code: string,
  extra: { headers?: Record<string, string>; details?: object; message?: string } = {},
): undefined {
  response.writeHead(status, { "content-type": "application/json", ...extra.headers });
  const { message = `this is ${code}`, details = {} } = extra;
  const error = isBinary(response.req)
    ? connectError(code, message, details)
    : { code, message, details };
  response.end(JSON.stringify(error));
}

export function recordJson(id: string, eventTime = "2026-11-15T10:00:00.000001Z"): object {
  return {
    timeSeriesId: "profile:1",
    eventTime,
    eventId: id,
    eventItems: [{ eventItemKey: "device", eventItemValue: "aW9z" }],
  };
}

export function pageJson(ids: readonly string[], nextPageToken: string): object {
  const responseContext = [
    {
      namespace: "plays",
      timeTaken: "0.004s",
      partitionsRead: 1,
      splitPartitionsRead: 0,
      bytesRead: "100",
      partial: false,
      partialReason: "",
    },
  ];
  return { records: ids.map((id) => recordJson(id)), nextPageToken, responseContext };
}

/**
 * Waits shorter than `skipBelowMs` take no time, but move the clock and are recorded; longer ones
 * (deadlines) last until the test calls `pass`.
 */
export class SkippingTiming implements Timing {
  readonly slept: number[] = [];
  readonly #skipBelowMs: number;
  #nowMs = 0;
  readonly #waiting = new Set<{ atMs: number; wake: () => void }>();

  constructor(skipBelowMs = 10_000) {
    this.#skipBelowMs = skipBelowMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  fraction(): number {
    return 0.5;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return;
    if (ms < this.#skipBelowMs) {
      this.slept.push(ms);
      this.#nowMs += ms;
      return;
    }
    await new Promise<void>((resolve) => {
      const entry = { atMs: this.#nowMs + ms, wake: resolve };
      this.#waiting.add(entry);
      signal?.addEventListener("abort", () => {
        this.#waiting.delete(entry);
        resolve();
      });
    });
  }

  /** How many waits last until `pass`. */
  get waiting(): number {
    return this.#waiting.size;
  }

  pass(ms: number): void {
    this.#nowMs += ms;
    for (const entry of this.#waiting) {
      if (entry.atMs > this.#nowMs) continue;
      this.#waiting.delete(entry);
      entry.wake();
    }
  }
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** A port without a listener: one that was assigned and released. */
export async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
