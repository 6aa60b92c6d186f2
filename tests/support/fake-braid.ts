/**
 * A server that answers as a test says, for tests of the client and the CLI alone: real sockets, no
 * storage. And a timing whose waits take no time.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Timing } from "../../client/timing.ts";

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
    void (async () => {
      const method = (raw.url ?? "").split("/").at(-1) ?? "";
      const body = JSON.parse(await text(raw)) as Record<string, unknown>;
      const request = { method, body, raw };
      requests.push(request);
      const result = await answer(request, response);
      if (result === undefined) return;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(result));
    })();
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

export function refuse(
  response: ServerResponse,
  status: number,
  code: string,
  extra: { headers?: Record<string, string>; details?: object; message?: string } = {},
): undefined {
  response.writeHead(status, { "content-type": "application/json", ...extra.headers });
  const { message = `this is ${code}`, details = {} } = extra;
  response.end(JSON.stringify({ code, message, details }));
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
