/**
 * gRPC's health service: `Check`, `Watch` and `List`, for each service and for the server as a
 * whole.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Serving,
  HealthCheckResponseSchema,
  HealthListResponseSchema,
} from "../../gen/grpc/health/v1/health_pb.js";
import { ServiceError } from "../../lib/errors.ts";
import type { BuiltInMethod } from "./grpc-built-in.ts";

export class Health {
  readonly #services: ReadonlySet<string>;
  #status = Serving.SERVING;
  readonly #watching = new Set<() => void>();

  constructor(services: readonly string[]) {
    this.#services = new Set(["", ...services]);
  }

  /** Final: a server that shuts down does not become healthy again. */
  drain(): void {
    this.#status = Serving.NOT_SERVING;
    for (const changed of this.#watching) changed();
  }

  get methods(): ReadonlyMap<string, BuiltInMethod> {
    return new Map<string, BuiltInMethod>([
      ["/grpc.health.v1.Health/Check", (messages) => this.#check(messages)],
      ["/grpc.health.v1.Health/Watch", (messages, signal) => this.#watch(messages, signal)],
      ["/grpc.health.v1.Health/List", () => this.#list()],
    ]);
  }

  async *#check(messages: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
    const service = await serviceOf(messages);
    if (!this.#services.has(service)) {
      throw new ServiceError("METHOD_NOT_FOUND", `there is no service ${service.slice(0, 100)}`);
    }
    yield responseOf(this.#status);
  }

  async *#watch(messages: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const known = this.#services.has(await serviceOf(messages));
    let sent: Serving | undefined;
    while (!signal.aborted) {
      const status = known ? this.#status : Serving.SERVICE_UNKNOWN;
      if (status !== sent) yield responseOf(status);
      sent = status;
      await this.#changed(signal);
    }
  }

  async *#list(): AsyncGenerator<Uint8Array> {
    const statuses = Object.fromEntries(
      [...this.#services].map((name) => [
        name,
        create(HealthCheckResponseSchema, { status: this.#status }),
      ]),
    );
    yield toBinary(HealthListResponseSchema, create(HealthListResponseSchema, { statuses }));
  }

  #changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#watching.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#watching.add(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }
}

async function serviceOf(messages: AsyncIterable<Buffer>): Promise<string> {
  for await (const message of messages) {
    return fromBinary(HealthCheckRequestSchema, message).service;
  }
  return "";
}

function responseOf(status: Serving): Uint8Array {
  return toBinary(HealthCheckResponseSchema, create(HealthCheckResponseSchema, { status }));
}
