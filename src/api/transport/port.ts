/**
 * One port for both protocols: the first bytes of a connection decide which one it is.
 *
 * HTTP/2 with prior knowledge begins with `PRI`; anything else is HTTP/1.1. A connection that sends
 * nothing is closed after a while.
 */
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import { Connections } from "./connection.ts";
import type { ConnectionLimits } from "./connection.ts";
import type { Exchange } from "./exchange.ts";
import { Http1 } from "./http1.ts";
import { Http2 } from "./http2.ts";
import { FAREWELL_MS, PING_EVERY_MS, SILENCE_MS } from "./limits.ts";

export interface PortOptions extends ConnectionLimits {
  readonly clock: Clock;
  readonly random: Random;
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly handle: (exchange: Exchange) => void;
}

const HTTP2_PREFACE = Buffer.from("PRI");

export class Port {
  readonly #clock: Clock;
  readonly #http1: Http1;
  readonly #http2: Http2;
  readonly #server: Server;
  readonly #connections: Connections;
  #port = 0;

  private constructor(options: PortOptions) {
    const { clock, random, handle } = options;
    this.#clock = clock;
    this.#connections = new Connections(options, clock);
    this.#http1 = new Http1(clock, handle);
    this.#http2 = new Http2(clock, random, handle);
    this.#server = createServer(
      // The system detects a peer that vanished where HTTP cannot ask.
      { noDelay: true, keepAlive: true, keepAliveInitialDelay: PING_EVERY_MS },
      (socket) => this.#greet(socket),
    );
    this.#server.on("error", () => undefined);
  }

  /** Rejects with Node's error if the address is not available. */
  static async open(options: PortOptions): Promise<Port> {
    const port = new Port(options);
    port.#server.listen({ host: options.host, port: options.port, backlog: 1024 });
    await once(port.#server, "listening");
    // It listens on a TCP port, so the address is an object.
    port.#port = (port.#server.address() as AddressInfo).port;
    return port;
  }

  get port(): number {
    return this.#port;
  }

  get connections(): number {
    return this.#connections.count;
  }

  /**
   * Accepts no more connections and asks peers to leave. `finished` resolves when no call is in
   * flight.
   */
  async drain(graceMs: number, finished: Promise<void>): Promise<boolean> {
    this.#server.close();
    this.#http2.drain();
    this.#http1.drain();
    const done = await this.#within(graceMs, finished);
    this.#http1.drain();
    // The last answers are leaving. This does not wait for connections that stay open for other
    // reasons.
    if (done) await this.#within(Math.min(graceMs, FAREWELL_MS), this.#connections.empty());
    return done;
  }

  /** Closes everything at once. */
  close(): void {
    this.#server.close();
    this.#http2.close();
    this.#http1.close();
    this.#connections.destroyAll();
  }

  #greet(socket: Socket): void {
    socket.on("error", () => socket.destroy());
    const connection = this.#connections.add(socket);
    if (connection === undefined) return;
    const silent = this.#clock.after(SILENCE_MS, () => socket.destroy());
    socket.once("close", silent);
    let heard: Buffer = Buffer.alloc(0);
    const hear = (bytes: Buffer): void => {
      heard = heard.length === 0 ? bytes : Buffer.concat([heard, bytes]);
      const known = Math.min(heard.length, HTTP2_PREFACE.length);
      const http2 = heard.subarray(0, known).equals(HTTP2_PREFACE.subarray(0, known));
      if (http2 && known < HTTP2_PREFACE.length) return;
      silent();
      socket.off("data", hear);
      socket.pause();
      socket.unshift(heard);
      if (http2) this.#http2.take(connection);
      else {
        this.#http1.take(connection);
        // The protocol's server reads only a flowing socket, and the pause above was explicit.
        socket.resume();
      }
    };
    socket.on("data", hear);
  }

  /** Returns whether the promise ended within the time. */
  async #within(ms: number, work: Promise<void>): Promise<boolean> {
    const over = new AbortController();
    try {
      return await Promise.race([
        work.then(() => true),
        this.#clock.sleep(ms, over.signal).then(() => false),
      ]);
    } finally {
      over.abort();
    }
  }
}
