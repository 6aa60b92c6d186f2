/**
 * HTTP/1.1 on Node's own server. A request that is not HTTP, too slow or too long gets an answer
 * and is closed.
 */
import { createServer } from "node:http";
import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { Code } from "../../lib/errors.ts";
import { errorJson } from "../error-map.ts";
import type { Connection } from "./connection.ts";
import { SlicedWriter, splitTarget } from "./exchange.ts";
import type { Exchange } from "./exchange.ts";
import { HEADER_BYTES_MAX, HEADERS_MS, UNREAD_MS, KEEP_ALIVE_MS } from "./limits.ts";

export class Http1 {
  readonly #server: Server;
  readonly #connections = new WeakMap<Socket, Connection>();
  #draining = false;

  constructor(clock: Clock, handle: (exchange: Exchange) => void) {
    this.#server = createServer({
      noDelay: true,
      headersTimeout: HEADERS_MS,
      // Bodies have a time limit of their own, which depends on the method.
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      insecureHTTPParser: false,
    });
    const begin = (request: IncomingMessage, response: ServerResponse): void => {
      const connection = this.#connections.get(request.socket);
      if (connection === undefined) {
        request.socket.destroy();
        return;
      }
      if (this.#draining) response.setHeader("connection", "close");
      handle(new Http1Exchange(request, response, connection, clock));
    };
    this.#server.on("request", begin);
    // Without a listener Node would ask for the body before the request is admitted.
    this.#server.on("checkContinue", begin);
    this.#server.on("clientError", answerBrokenHttp);
    // Nothing here is upgraded or tunnelled.
    this.#server.on("connect", (_request, socket) => socket.destroy());
    // This server does not listen itself, but the event starts its checks for slow senders.
    this.#server.emit("listening");
  }

  take(connection: Connection): void {
    this.#connections.set(connection.socket, connection);
    connection.farewell = () => {
      if (connection.requests === 0) connection.socket.destroy();
    };
    this.#server.emit("connection", connection.socket);
  }

  /** Connections close after their current answer; idle ones close now. */
  drain(): void {
    this.#draining = true;
    this.#server.closeIdleConnections();
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

class Http1Exchange implements Exchange {
  readonly httpVersion = 1;
  readonly verb: string;
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingMessage["headers"];
  readonly connection: Connection;
  readonly body: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #writer: SlicedWriter;
  readonly #clock: Clock;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    connection: Connection,
    clock: Clock,
  ) {
    this.verb = request.method ?? "GET";
    ({ path: this.path, query: this.query } = splitTarget(request.url ?? "/"));
    this.headers = request.headers;
    this.connection = connection;
    this.body = request;
    this.#response = response;
    this.#clock = clock;
    this.#writer = new SlicedWriter(response, clock);
    // The close event reports a peer that leaves; the error adds nothing.
    request.on("error", () => undefined);
    response.on("error", () => undefined);
  }

  get stalledMs(): number {
    return this.#writer.stalledMs;
  }

  acceptBody(): void {
    if (this.headers.expect !== undefined && !this.#response.headersSent) {
      this.#response.writeContinue();
    }
  }

  begin(status: number, headers: OutgoingHttpHeaders): void {
    if (this.#response.headersSent || this.#response.destroyed) return;
    this.#response.writeHead(status, headers);
  }

  send(bytes: Uint8Array): Promise<void> {
    return this.#writer.write(bytes);
  }

  end(): void {
    this.#writer.ending();
    this.#response.end();
    this.#leaveUnread();
  }

  answer(status: number, headers: OutgoingHttpHeaders, body: Uint8Array | string): void {
    if (this.#response.headersSent || this.#response.destroyed) return;
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    this.#response.writeHead(status, { ...headers, "content-length": bytes.length });
    if (this.verb === "HEAD") {
      this.end();
      return;
    }
    this.#writer.write(bytes).then(
      () => this.end(),
      () => this.cut(),
    );
  }

  cut(): void {
    this.#response.destroy();
  }

  onClosed(listener: (complete: boolean) => void): void {
    this.#response.once("close", () => listener(this.#response.writableFinished));
  }

  /** Discards the rest of the body. A peer that does not finish it is cut off. */
  #leaveUnread(): void {
    if (this.body.complete) return;
    this.body.resume();
    const stop = this.#clock.after(UNREAD_MS, () => this.connection.socket.destroy());
    this.body.once("end", stop).once("close", stop);
  }
}

function answerBrokenHttp(error: NodeJS.ErrnoException, stream: unknown): void {
  // The connections of this server are sockets.
  const socket = stream as Socket;
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, code, message] = brokenHttp(error.code);
  const body = errorJson(new ServiceError(code, message));
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  socket.destroySoon();
}

function brokenHttp(code: string | undefined): [string, Code, string] {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [
        "431 Request Header Fields Too Large",
        "REQUEST_TOO_LARGE",
        `the headers are larger than ${HEADER_BYTES_MAX} bytes`,
      ];
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return ["408 Request Timeout", "DEADLINE_EXCEEDED", "the request did not arrive in time"];
    case undefined:
    default:
      return ["400 Bad Request", "REQUEST_INVALID", "this is not HTTP/1.1"];
  }
}
