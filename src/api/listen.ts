/** The API on one port: the transport below, protocols and methods above. */
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { Random } from "../lib/random.ts";
import { file_grpc_health_v1_health } from "../gen/grpc/health/v1/health_pb.js";
import { file_grpc_reflection_v1_reflection } from "../gen/grpc/reflection/v1/reflection_pb.js";
import { file_google_rpc_error_details } from "../gen/google/rpc/error_details_pb.js";
import type { Calls } from "./calls.ts";
import { Dispatch } from "./dispatch.ts";
import type { Method } from "./methods/method.ts";
import { HttpPages } from "./http-pages.ts";
import type { ReadyDetail } from "./http-pages.ts";
import { BuiltInMethods } from "./protocols/grpc-built-in.ts";
import { Health } from "./protocols/grpc-health.ts";
import { Reflection } from "./protocols/grpc-reflection.ts";
import { Port } from "./transport/port.ts";

export interface ListenOptions {
  readonly methods: readonly Method[];
  readonly calls: Calls;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly connectionsMax: number;
  /** The limits of one connection: requests at a time, and bytes held. */
  readonly connectionRequestsMax: number;
  readonly connectionBytesMax: number;
  /** Host names that requests may use, besides addresses and this machine's own names. */
  readonly allowedHosts: readonly string[];
  /** Why the server cannot serve now; undefined if it can. */
  readonly notReady: () => string | undefined;
  /** Further detail for /readyz; it does not affect whether requests are answered. */
  readonly readyDetail?: () => ReadyDetail;
}

export class Listener {
  readonly #port: Port;
  readonly #calls: Calls;
  readonly #health: Health;
  readonly #closing: AbortController;

  private constructor(port: Port, calls: Calls, health: Health, closing: AbortController) {
    this.#port = port;
    this.#calls = calls;
    this.#health = health;
    this.#closing = closing;
  }

  /** Rejects with Node's error if the address is not available. */
  static async open(options: ListenOptions): Promise<Listener> {
    const { methods, calls, log } = options;
    const closing = new AbortController();
    const services = [...new Set(methods.map((method) => method.desc.parent))];
    const health = new Health(services.map(({ typeName }) => typeName));
    const reflection = new Reflection([
      ...services.map(({ file }) => file),
      file_grpc_health_v1_health,
      file_grpc_reflection_v1_reflection,
      file_google_rpc_error_details,
    ]);
    let draining = false;
    closing.signal.addEventListener("abort", () => (draining = true));
    const pages = new HttpPages({
      metrics: options.metrics,
      methods: methods.map(({ desc }) => desc),
      notReady: () => (draining ? "the server is shutting down" : options.notReady()),
      readyDetail: options.readyDetail ?? (() => undefined),
    });
    const dispatch = new Dispatch({
      methods,
      calls,
      pages,
      builtIn: new BuiltInMethods(options.clock, health.methods, reflection.methods),
      allowedHosts: options.allowedHosts,
      failed: (error) => log.error({ err: error }, "a bug made a request fail"),
    });
    const port = await Port.open({
      ...options,
      requestsMax: options.connectionRequestsMax,
      bytesMax: options.connectionBytesMax,
      handle: (exchange) => dispatch.handle(exchange),
    });
    void calls.watch(closing.signal);
    return new Listener(port, calls, health, closing);
  }

  get port(): number {
    return this.#port.port;
  }

  get connections(): number {
    return this.#port.connections;
  }

  /**
   * Stops accepting connections and requests, and waits at most `graceMs` for calls in flight.
   * Returns true if all of them finished.
   */
  drain(graceMs: number): Promise<boolean> {
    this.#closing.abort();
    this.#health.drain();
    return this.#port.drain(graceMs, this.#calls.drain());
  }

  /** Closes everything at once. */
  close(): void {
    this.#closing.abort();
    this.#port.close();
  }
}
