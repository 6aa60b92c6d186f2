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

const HTTP2_PREFACE = Buffer.from("PRI");

export class Listener {
  readonly #options: ListenOptions;
  readonly #grpc: GrpcServer;
  readonly #http: HttpServer;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

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
    return listener;
  }

  get port(): number {
    // It listens on a TCP port, so the address is one.
    return (this.#server.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /**
   * Takes no more connections or requests and lets what is under way finish, for at most `graceMs`.
   * True if all of it did.
   */
  async drain(graceMs: number): Promise<boolean> {
    const { clock, requests } = this.#options;
    this.#server.close();
    this.#grpc.drain(graceMs);
    this.#http.drain();
    const over = new AbortController();
    try {
      return await Promise.race([
        requests.drain().then(() => true),
        clock.sleep(graceMs, over.signal).then(() => false),
      ]);
    } finally {
      over.abort();
    }
  }

  /** Lets go of everything, at once. */
  async close(): Promise<void> {
    this.#server.close();
    // Answers that were sent a moment ago are still on their way out.
    this.#grpc.close();
    await this.#http.close();
    for (const socket of this.#sockets) socket.destroy();
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
