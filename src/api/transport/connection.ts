/**
 * The open connections of one port: how many there are, and what each of them holds.
 *
 * A connection may hold only a share of what the server can hold, so that a few peers cannot lock
 * out the rest. At the limit of connections, an idle one makes room. A reserve is kept for health
 * and control: a connection in the reserve is served nothing else.
 */
import type { Socket } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import { CONNECTION_ASIDES_MAX, CONNECTIONS_RESERVED, IDLE_MS_MIN } from "./limits.ts";

export interface ConnectionLimits {
  /** Connections that may use every method. */
  readonly connectionsMax: number;
  /** Requests of one connection at a time. */
  readonly requestsMax: number;
  /** Bytes of requests and answers that one connection may hold. */
  readonly bytesMax: number;
}

export class Connection {
  readonly socket: Socket;
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;
  #requests = 0;
  #bytes = 0;
  #asides = 0;
  #activeAtMs: number;
  /** Whether it may use only health and control. */
  readonly reserved: boolean;
  /** Ends the connection as its protocol requires; set once the protocol is known. */
  farewell: () => void;

  constructor(socket: Socket, limits: ConnectionLimits, clock: Clock, reserved: boolean) {
    this.socket = socket;
    this.#limits = limits;
    this.#clock = clock;
    this.#activeAtMs = clock.monotonicMs();
    this.reserved = reserved;
    this.farewell = () => socket.destroy();
  }

  get requests(): number {
    return this.#requests;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** How long no request has been in flight. */
  get idleMs(): number {
    return this.#requests > 0 ? 0 : this.#clock.monotonicMs() - this.#activeAtMs;
  }

  /** Returns false if the connection has reached its limit of requests in flight. */
  tryBegin(): boolean {
    if (this.#requests >= this.#limits.requestsMax) return false;
    this.#requests++;
    return true;
  }

  ended(): void {
    this.#requests--;
    this.#activeAtMs = this.#clock.monotonicMs();
  }

  /** The same for pages, health and reflection, which do not keep a connection busy. */
  tryBeginAside(): boolean {
    if (this.#asides >= CONNECTION_ASIDES_MAX) return false;
    this.#asides++;
    return true;
  }

  endedAside(): void {
    this.#asides--;
  }

  /**
   * Returns false if the connection would hold more than its limit. A single request may always be
   * held.
   */
  tryTake(bytes: number): boolean {
    if (this.#bytes > 0 && this.#bytes + bytes > this.#limits.bytesMax) return false;
    this.#bytes += bytes;
    return true;
  }

  /** For an answer that exists already. */
  force(bytes: number): void {
    this.#bytes += bytes;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }
}

export class Connections implements Iterable<Connection> {
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;
  readonly #open = new Set<Connection>();
  #emptied: (() => void)[] = [];

  constructor(limits: ConnectionLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get count(): number {
    return this.#open.size;
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#open[Symbol.iterator]();
  }

  /** Returns undefined and destroys the socket if there is no room even in the reserve. */
  add(socket: Socket): Connection | undefined {
    const full = this.#open.size >= this.#limits.connectionsMax;
    if (
      full &&
      !this.#makeRoom() &&
      this.#open.size >= this.#limits.connectionsMax + CONNECTIONS_RESERVED
    ) {
      socket.destroy();
      return undefined;
    }
    const reserved = this.#open.size >= this.#limits.connectionsMax;
    const connection = new Connection(socket, this.#limits, this.#clock, reserved);
    this.#open.add(connection);
    socket.once("close", () => {
      this.#open.delete(connection);
      if (this.#open.size === 0) for (const resolve of this.#emptied.splice(0)) resolve();
    });
    return connection;
  }

  /** Resolves when no connection is open. */
  async empty(): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => this.#emptied.push(resolve));
  }

  destroyAll(): void {
    for (const { socket } of this.#open) socket.destroy();
  }

  /** Ends the connection that has been idle longest. Returns false if none is idle. */
  #makeRoom(): boolean {
    let longest: Connection | undefined;
    for (const connection of this.#open) {
      if (connection.idleMs < IDLE_MS_MIN) continue;
      if (longest === undefined || connection.idleMs > longest.idleMs) longest = connection;
    }
    if (longest === undefined) return false;
    // At once, because its slot is needed now. The peer can connect again.
    this.#open.delete(longest);
    longest.socket.destroy();
    return true;
  }
}
