/**
 * HTTP/2 with prior knowledge, on Node's own server: gRPC, and everything else for callers that
 * prefer it.
 *
 * GOAWAY ends a session that has been open for long, so that load balancers spread callers again.
 * PING detects a peer that vanished. Floods of RST_STREAM, PING, SETTINGS and CONTINUATION end the
 * session.
 */
import { constants, createServer } from "node:http2";
import type {
  Http2Server,
  IncomingHttpHeaders,
  ServerHttp2Session,
  ServerHttp2Stream,
} from "node:http2";
import type { OutgoingHttpHeaders } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { nextTurn } from "../../lib/in-steps.ts";
import type { Random } from "../../lib/random.ts";
import type { Connection } from "./connection.ts";
import { SlicedWriter, splitTarget } from "./exchange.ts";
import type { Exchange } from "./exchange.ts";
import {
  HEADER_BYTES_MAX,
  HEADER_PAIRS_MAX,
  STREAMS_MAX,
  UNREAD_MS,
  IDLE_MS,
  AGE_MS,
  PING_EVERY_MS,
  PING_ANSWER_MS,
  STREAM_WINDOW_BYTES,
  CONNECTION_WINDOW_BYTES,
  SESSION_MEMORY_MIB,
  INVALID_FRAMES_MAX,
  RESET_BURST,
  RESET_RATE,
} from "./limits.ts";

export class Http2 {
  readonly #server: Http2Server;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #handle: (exchange: Exchange) => void;

  constructor(clock: Clock, random: Random, handle: (exchange: Exchange) => void) {
    this.#clock = clock;
    this.#random = random;
    this.#handle = handle;
    this.#server = createServer({
      maxSessionInvalidFrames: INVALID_FRAMES_MAX,
      maxSessionMemory: SESSION_MEMORY_MIB,
      maxHeaderListPairs: HEADER_PAIRS_MAX,
      streamResetBurst: RESET_BURST,
      streamResetRate: RESET_RATE,
      settings: {
        initialWindowSize: STREAM_WINDOW_BYTES,
        maxHeaderListSize: HEADER_BYTES_MAX,
        maxConcurrentStreams: STREAMS_MAX,
        enablePush: false,
      },
    });
    // Each session has its own listeners; these catch errors before it has them.
    this.#server.on("sessionError", () => undefined);
    this.#server.on("error", () => undefined);
  }

  take(connection: Connection): void {
    this.#server.once("session", (session) => this.#open(session, connection));
    // The server creates the session before this returns.
    this.#server.emit("connection", connection.socket);
  }

  /** Asks peers to connect elsewhere; streams in flight finish. */
  drain(): void {
    for (const session of this.#sessions) leave(session);
  }

  close(): void {
    for (const session of this.#sessions) session.destroy();
    this.#server.close();
  }

  #open(session: ServerHttp2Session, connection: Connection): void {
    this.#sessions.add(session);
    connection.farewell = () => leave(session);
    session.on("error", () => session.destroy());
    session.on("frameError", () => undefined);
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    const ended = new AbortController();
    session.once("close", () => {
      this.#sessions.delete(session);
      ended.abort();
    });
    session.on("stream", (stream, headers) => {
      // Without this listener, an error that arrives with the stream would be uncaught.
      stream.on("error", () => undefined);
      // A peer that resets a stream without an error code would otherwise leave it half open.
      // Not at once: where this side ends the stream, it still has to tell the peer.
      stream.once("aborted", () => void nextTurn().then(() => stream.destroy()));
      this.#handle(new Http2Exchange(stream, headers, connection, this.#clock));
    });
    void this.#keep(session, connection, ended.signal);
  }

  /** Runs until the session is closed. Never rejects. */
  async #keep(
    session: ServerHttp2Session,
    connection: Connection,
    signal: AbortSignal,
  ): Promise<void> {
    const endsAtMs = this.#clock.monotonicMs() + AGE_MS * (0.9 + this.#random.fraction() / 5);
    while (!signal.aborted) {
      await this.#clock.sleep(PING_EVERY_MS, signal);
      if (signal.aborted) return;
      if (this.#clock.monotonicMs() >= endsAtMs || connection.idleMs >= IDLE_MS) leave(session);
      // A session that closes cannot ping. Its streams have time limits of their own.
      if (session.destroyed || session.closed) return;
      const answered = new AbortController();
      const asked = session.ping(() => answered.abort());
      if (asked) await this.#clock.sleep(PING_ANSWER_MS, answered.signal);
      if (!answered.signal.aborted) session.destroy();
    }
  }
}

/** GOAWAY: streams in flight finish, and no further one starts. */
function leave(session: ServerHttp2Session): void {
  if (!session.destroyed && !session.closed) session.close();
}

class Http2Exchange implements Exchange {
  readonly httpVersion = 2;
  readonly verb: string;
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly connection: Connection;
  readonly body: ServerHttp2Stream;
  readonly #writer: SlicedWriter;
  readonly #clock: Clock;
  #trailers: OutgoingHttpHeaders = {};

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    connection: Connection,
    clock: Clock,
  ) {
    this.verb = headers[":method"] ?? "";
    ({ path: this.path, query: this.query } = splitTarget(headers[":path"] ?? ""));
    // HTTP/1.1 has the authority as `host`; the browser guard checks that name.
    this.headers = headers;
    if (headers.host === undefined && headers[":authority"] !== undefined) {
      headers.host = headers[":authority"];
    }
    this.connection = connection;
    this.body = stream;
    this.#clock = clock;
    this.#writer = new SlicedWriter(stream, clock);
  }

  get stalledMs(): number {
    return this.#writer.stalledMs;
  }

  acceptBody(): void {
    if (this.headers.expect === undefined || !this.#open()) return;
    this.body.additionalHeaders({ ":status": 100 });
  }

  begin(status: number, headers: OutgoingHttpHeaders): void {
    if (!this.#open()) return;
    this.body.respond({ ":status": status, ...headers }, { waitForTrailers: true });
    this.body.once("wantTrailers", () => {
      // Without trailers this ends the stream. To close it instead would reset it, which some clients
      // take for an error.
      if (!this.body.destroyed) this.body.sendTrailers(this.#trailers);
    });
  }

  send(bytes: Uint8Array): Promise<void> {
    return this.#writer.write(bytes);
  }

  end(trailers: OutgoingHttpHeaders = {}): void {
    this.#trailers = trailers;
    if (this.body.destroyed) return;
    this.#writer.ending();
    this.body.end();
    this.#leaveUnread();
  }

  answer(status: number, headers: OutgoingHttpHeaders, body: Uint8Array | string): void {
    if (!this.#open()) return;
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    const empty = bytes.length === 0 || this.verb === "HEAD";
    this.body.respond({ ":status": status, ...headers }, { endStream: empty });
    if (empty) {
      this.#writer.ending();
      this.#leaveUnread();
      return;
    }
    this.#writer.write(bytes).then(
      () => this.end(),
      () => this.cut(),
    );
  }

  cut(): void {
    if (!this.body.destroyed) this.body.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.body.destroy();
  }

  onClosed(listener: (complete: boolean) => void): void {
    const { body } = this;
    const report = (): void => {
      listener(body.writableFinished && body.rstCode === constants.NGHTTP2_NO_ERROR);
    };
    if (body.closed) report();
    else body.once("close", report);
  }

  #open(): boolean {
    return !this.body.destroyed && !this.body.closed && !this.body.headersSent;
  }

  /** Discards the rest of the body. A peer that does not finish it is cut off. */
  #leaveUnread(): void {
    const { body } = this;
    if (body.readableEnded || body.destroyed) return;
    body.resume();
    const stop = this.#clock.after(UNREAD_MS, () => this.cut());
    body.once("close", stop);
  }
}
