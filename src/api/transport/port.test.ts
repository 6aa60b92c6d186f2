/** Real sockets on a virtual clock: what ends a connection, and what does not. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { test } from "node:test";
import { until } from "../../../tests/support/conditions.ts";
import {
  countFrames,
  FLAG,
  FRAME,
  frame,
  grpcHeaders,
  headerBlock,
  INITIAL_WINDOW_SIZE,
  openRaw,
  PREFACE,
  sent,
  settings,
} from "../../../tests/support/raw-http2.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { systemRandom } from "../../lib/random.ts";
import type { Exchange } from "./exchange.ts";
import { AGE_MS, IDLE_MS, PING_ANSWER_MS, PING_EVERY_MS } from "./limits.ts";
import { Port } from "./port.ts";

test("a peer's keepalive PING is answered", async () => {
  await using fixture = await Fixture.open();
  const session = await fixture.connect();
  const payload = Buffer.from("keepaliv");
  const answer = await new Promise<Buffer>((resolve, reject) => {
    session.ping(payload, (error, _ms, bytes) => (error === null ? resolve(bytes) : reject(error)));
  });
  deepEqual(answer, payload);
});

test("an HTTP/2 answer in several parts ends its stream, and does not reset it", async () => {
  await using fixture = await Fixture.open();
  const socket = await openRaw(fixture.url);
  const ended = countFrames(socket, FRAME.DATA);
  const resets = countFrames(socket, FRAME.RST_STREAM);
  const pings = countFrames(socket, FRAME.PING);
  const request = frame(
    FRAME.HEADERS,
    FLAG.END_HEADERS | FLAG.END_STREAM,
    1,
    headerBlock({
      ":method": "POST",
      ":scheme": "http",
      ":path": "/slow",
      ":authority": "localhost",
    }),
  );
  await sent(socket, Buffer.concat([PREFACE, settings(), request]));
  const exchange = await fixture.next();
  exchange.begin(200, {});
  await exchange.send(Buffer.from("all of it"));
  exchange.end();
  // The bytes, and the empty frame that ends the stream. What answers the ping comes after them.
  await until(() => ended.count === 2);
  await sent(socket, frame(FRAME.PING, 0, 0, Buffer.alloc(8)));
  await until(() => pings.count === 1);
  equal(resets.count, 0);
  socket.destroy();
});

test("a session that is an hour old gets GOAWAY, and its streams finish", async () => {
  await using fixture = await Fixture.open();
  const session = await fixture.connect();
  const stream = session.request({ ":path": "/slow" });
  const exchange = await fixture.next();
  equal(exchange.connection.tryBegin(), true);
  const gone = once(session, "goaway");
  // Every step lets the pings of a minute be answered.
  let over = false;
  void gone.then(() => (over = true));
  for (let minute = 0; minute < (1.2 * AGE_MS) / PING_EVERY_MS && !over; minute++) {
    if (minute === 50) ok(!session.closed, "it is not ended before its time");
    await fixture.minute();
  }
  await gone;
  exchange.answer(200, {}, "the end");
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  await once(stream, "end");
  equal(text, "the end");
  await until(() => fixture.port.connections === 0);
});

test("a session without requests gets GOAWAY after a while", async () => {
  await using fixture = await Fixture.open();
  const session = await fixture.connect();
  const gone = once(session, "goaway");
  for (let minute = 0; minute <= IDLE_MS / PING_EVERY_MS; minute++) await fixture.minute();
  await gone;
  await until(() => fixture.port.connections === 0);
});

test("a peer that does not answer PING is cut off, one that does is not", async () => {
  await using fixture = await Fixture.open();
  const session = await fixture.connect();
  const silent = await openRaw(fixture.url);
  const greetings = countFrames(silent, FRAME.SETTINGS);
  const pings = countFrames(silent, FRAME.PING);
  await sent(silent, Buffer.concat([PREFACE, settings()]));
  await until(() => greetings.count > 0);
  await fixture.clock.advance(PING_EVERY_MS);
  await until(() => pings.count === 1);
  await pingsAnswered(session);
  const closed = once(silent, "close");
  await fixture.clock.advance(PING_ANSWER_MS);
  await closed;
  equal(session.destroyed, false);
  equal(fixture.port.connections, 1);
});

test("a stream that its peer resets without an error code ends, also while its answer waits", async () => {
  await using fixture = await Fixture.open();
  const socket = await openRaw(fixture.url);
  const head = frame(FRAME.HEADERS, FLAG.END_HEADERS, 1, grpcHeaders("/slow"));
  await sent(socket, Buffer.concat([PREFACE, settings([[INITIAL_WINDOW_SIZE, 0]]), head]));
  const exchange = await fixture.next();
  const closed = new Promise<boolean>((resolve) => exchange.onClosed(resolve));
  exchange.begin(200, {});
  exchange.send(Buffer.alloc(100)).catch(() => undefined);
  await sent(socket, frame(FRAME.RST_STREAM, 0, 1, Buffer.alloc(4)));
  equal(await closed, false);
  socket.destroy();
});

const FLOODS: Readonly<Record<string, (n: number) => Buffer>> = {
  RST_STREAM: (n) =>
    Buffer.concat([
      frame(FRAME.HEADERS, FLAG.END_HEADERS, n * 2 + 1, grpcHeaders("/x")),
      frame(FRAME.RST_STREAM, 0, n * 2 + 1, Buffer.alloc(4)),
    ]),
  PING: () => frame(FRAME.PING, 0, 0, Buffer.alloc(8)),
  SETTINGS: () => settings([[3, 100]]),
  CONTINUATION: (n) =>
    n === 0
      ? frame(FRAME.HEADERS, 0, 1, grpcHeaders("/x"))
      : frame(FRAME.CONTINUATION, 0, 1, headerBlock({ [`x-${n}`]: "y".repeat(1_000) })),
};

for (const [name, flood] of Object.entries(FLOODS)) {
  test(`Z12: a flood of ${name} frames by a peer that reads nothing ends its connection`, async () => {
    await using fixture = await Fixture.open();
    const socket = await openRaw(fixture.url, false);
    await sent(socket, Buffer.concat([PREFACE, settings()]));
    let frames = 0;
    while (!socket.destroyed && fixture.connected(socket)) {
      const batch = Array.from({ length: 2_000 }, (_, i) => flood(frames + i));
      frames += batch.length;
      ok(frames < 4_000_000, "the server takes any number of them");
      await Promise.race([write(socket, Buffer.concat(batch)), fixture.dropped()]);
    }
    socket.destroy();
    // Others are not concerned.
    const session = await fixture.connect();
    await pingsAnswered(session);
  });
}

/** Resolves when the system has taken the bytes, or the peer has left. */
function write(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => socket.write(bytes, () => resolve()));
}

/** The server has the answer to its own ping: frames arrive in the order in which they were sent. */
async function pingsAnswered(session: ClientHttp2Session): Promise<void> {
  for (let i = 0; i < 2; i++) {
    await new Promise<void>((resolve) => session.ping(() => resolve()));
  }
}

class Fixture {
  readonly clock: VirtualClock;
  readonly port: Port;
  readonly #exchanges: Exchange[];
  readonly #sessions: ClientHttp2Session[] = [];

  private constructor(clock: VirtualClock, port: Port, exchanges: Exchange[]) {
    this.clock = clock;
    this.port = port;
    this.#exchanges = exchanges;
  }

  static async open(): Promise<Fixture> {
    const clock = new VirtualClock(0);
    const exchanges: Exchange[] = [];
    const port = await Port.open({
      clock,
      random: systemRandom,
      host: "127.0.0.1",
      port: 0,
      connectionsMax: 100,
      requestsMax: 100,
      bytesMax: 1 << 20,
      handle: (exchange) => {
        if (exchange.path === "/slow") exchanges.push(exchange);
        else exchange.answer(200, {}, "");
      },
    });
    return new Fixture(clock, port, exchanges);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port.port}`;
  }

  async connect(): Promise<ClientHttp2Session> {
    const session = connect(this.url);
    session.on("error", () => undefined);
    this.#sessions.push(session);
    await once(session, "remoteSettings");
    return session;
  }

  /** The next request that waits for its answer. */
  async next(): Promise<Exchange> {
    await until(() => this.#exchanges.length > 0);
    return this.#exchanges.shift() as Exchange;
  }

  /** A minute passes, and peers answer its ping. */
  async minute(): Promise<void> {
    await this.clock.advance(PING_EVERY_MS);
    for (const session of this.#sessions) if (!session.destroyed) await pingsAnswered(session);
  }

  connected(socket: Socket): boolean {
    return !socket.destroyed && this.port.connections > 0;
  }

  async dropped(): Promise<void> {
    await until(() => this.port.connections === 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    this.port.close();
    await until(() => this.port.connections === 0);
  }
}
