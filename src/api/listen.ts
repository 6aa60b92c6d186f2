/**
 * One port for gRPC and HTTP: a connection is handed on by its first bytes.
 *
 * HTTP/2 with prior knowledge, which is what gRPC speaks, begins with `PRI`; anything else is HTTP/1.1.
 * A connection that says nothing is let go after a while, and only so many may be open.
 */
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Clock } from "../lib/clock.ts";
import { GrpcServer } from "./grpc.ts";
import type { GrpcOptions } from "./grpc.ts";
import { HttpServer } from "./http.ts";
import type { HttpOptions } from "./http.ts";

export interface ListenOptions extends GrpcOptions, HttpOptions {
  readonly clock: Clock;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly connectionsMax: number;
}

/** A sane client speaks at once. */
const SILENCE_MS = 10_000;

/** How long connections have to close by themselves once the last request is answered. */
const FAREWELL_MS = 500;

const HTTP2_PREFACE = Buffer.from("PRI");

export class Listener {
  readonly #options: ListenOptions;
  readonly #grpc: GrpcServer;
  readonly #http: HttpServer;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #port = 0;

  private constructor(options: ListenOptions) {
    this.#options = options;
    this.#grpc = new GrpcServer(options);
    this.#http = new HttpServer(options);
    this.#server = createServer({ noDelay: true }, (socket) => this.#greet(socket));
    this.#server.maxConnections = options.connectionsMax;
  }

  /** Rejects with Node's error if the address cannot be had. */
  static async open(options: ListenOptions): Promise<Listener> {
    const listener = new Listener(options);
    await listener.#http.ready();
    listener.#server.listen({ host: options.host, port: options.port, backlog: 1024 });
    await once(listener.#server, "listening");
    // It listens on a TCP port, so the address is one.
    listener.#port = (listener.#server.address() as AddressInfo).port;
    return listener;
  }

  get port(): number {
    return this.#port;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /**
   * Takes no more connections or requests and lets what is under way finish, for at most `graceMs`.
   * True if all of it did.
   */
  async drain(graceMs: number): Promise<boolean> {
    const { requests } = this.#options;
    this.#server.close();
    this.#grpc.drain(graceMs);
    this.#http.drain();
    const finished = await this.#within(graceMs, requests.drain());
    this.#http.drain();
    // The last answers are on their way out; connections that stay open for other reasons are not waited for.
    if (finished) await this.#within(Math.min(graceMs, FAREWELL_MS), this.#allClosed());
    return finished;
  }

  /** Lets go of everything, at once. */
  async close(): Promise<void> {
    this.#server.close();
    this.#grpc.close();
    await this.#http.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Whether it ended within the time. */
  async #within(ms: number, work: Promise<void>): Promise<boolean> {
    const over = new AbortController();
    try {
      return await Promise.race([
        work.then(() => true),
        this.#options.clock.sleep(ms, over.signal).then(() => false),
      ]);
    } finally {
      over.abort();
    }
  }

  async #allClosed(): Promise<void> {
    // `once` would reject when a caller resets the connection, which closes it as well.
    for (const socket of this.#sockets) {
      if (!socket.closed) await new Promise((closed) => socket.once("close", closed));
    }
  }

  #greet(socket: Socket): void {
    this.#sockets.add(socket);
    const spoke = new AbortController();
    socket.once("close", () => {
      this.#sockets.delete(socket);
      spoke.abort();
    });
    // Whoever takes the connection over has a handler of its own; until then a reset is nobody's news.
    socket.on("error", () => socket.destroy());
    void this.#options.clock.sleep(SILENCE_MS, spoke.signal).then(() => {
      if (!spoke.signal.aborted) socket.destroy();
    });
    let heard: Buffer = Buffer.alloc(0);
    const hear = (bytes: Buffer): void => {
      heard = heard.length === 0 ? bytes : Buffer.concat([heard, bytes]);
      const known = Math.min(heard.length, HTTP2_PREFACE.length);
      const http2 = heard.subarray(0, known).equals(HTTP2_PREFACE.subarray(0, known));
      if (http2 && known < HTTP2_PREFACE.length) return;
      spoke.abort();
      socket.off("data", hear);
      socket.pause();
      socket.unshift(heard);
      if (http2) this.#grpc.take(socket);
      else {
        this.#http.take(socket);
        // It reads what flows, and the pause above was explicit.
        socket.resume();
      }
    };
    socket.on("data", hear);
  }
}
