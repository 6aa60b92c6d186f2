/**
 * Answers the methods over gRPC: bytes in, bytes out, whatever the method.
 *
 * A stream sends one page, waits until it is on its way, and only then asks for the next: a slow
 * reader holds about a page of memory, not all that it did not read yet.
 */
import { EventEmitter } from "node:events";
import type { Http2Server } from "node:http2";
import type { Duplex } from "node:stream";
import { Server, ServerCredentials, status } from "@grpc/grpc-js";
import type {
  ConnectionInjector,
  handleServerStreamingCall,
  handleUnaryCall,
  Metadata,
  ServerInterceptingCall,
  ServerInterceptor,
  ServerWritableStream,
  ServiceDefinition,
  StatusObject,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";
import type { Clock } from "../lib/clock.ts";
import { assert, ServiceError } from "../lib/errors.ts";
import { callerOf, OPERATOR_HEADER } from "./caller.ts";
import type { Caller } from "./caller.ts";
import { addReflection } from "./grpc-reflection.ts";
import { CODE_TRAILER, REQUEST_ID_HEADER, statusOf, trailersOf } from "./grpc-status.ts";
import { pathOf } from "./methods/method.ts";
import type { CopiedBytes, Method, StreamMethod, UnaryMethod } from "./methods/method.ts";
import { callerRequestId } from "./request-id.ts";
import type { OpenRequest, Requests } from "./requests.ts";

export interface GrpcOptions {
  readonly methods: readonly Method[];
  readonly requests: Requests;
  readonly clock: Clock;
  readonly requestBytesMax: number;
}

/**
 * With Node's 64 KiB a large request waits one round trip per 64 KiB: little on loopback (8 MiB requests were up
 * to 15 % faster with these), most of its time on a network. A connection may hold this much that is not taken yet.
 */
const STREAM_WINDOW_BYTES = 4 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 8 * 1024 * 1024;
const HEADER_LIST_BYTES_MAX = 16 * 1024;
const STREAMS_PER_CONNECTION_MAX = 256;
/** A peer that vanished without a word is noticed within these. */
const KEEPALIVE_MS = 60_000;
const KEEPALIVE_TIMEOUT_MS = 20_000;

export class GrpcServer {
  readonly #server: Server;
  readonly #injector: ConnectionInjector;
  readonly #health: HealthImplementation;
  readonly #services: readonly string[];
  readonly #options: GrpcOptions;

  constructor(options: GrpcOptions) {
    this.#options = options;
    const services = [...new Set(options.methods.map((method) => method.desc.parent))];
    this.#server = new Server({
      "grpc.max_receive_message_length": options.requestBytesMax,
      "grpc.max_send_message_length": -1,
      "grpc.max_concurrent_streams": STREAMS_PER_CONNECTION_MAX,
      "grpc.keepalive_time_ms": KEEPALIVE_MS,
      "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
      "grpc.enable_channelz": 0,
      interceptors: [tellInOurWords(options)],
    });
    for (const service of services) {
      const methods = options.methods.filter((method) => method.desc.parent === service);
      this.#server.addService(definitionOf(methods), this.#handlersOf(methods));
    }
    this.#services = ["", ...services.map((service) => service.typeName)];
    this.#health = new HealthImplementation(
      Object.fromEntries(this.#services.map((name) => [name, "SERVING"])),
    );
    this.#health.addToServer(this.#server);
    addReflection(
      this.#server,
      services.map((service) => service.file),
    );
    this.#injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
    widenWindows(this.#server);
  }

  /** Takes over a connection that speaks HTTP/2. */
  take(socket: Duplex): void {
    this.#injector.injectConnection(socket);
  }

  /** Health says NOT_SERVING and callers are told to go elsewhere; what is under way goes on. */
  drain(graceMs: number): void {
    for (const name of this.#services) this.#health.setStatus(name, "NOT_SERVING");
    this.#injector.drain(graceMs);
  }

  close(): void {
    this.#server.forceShutdown();
  }

  #handlersOf(methods: readonly Method[]): UntypedServiceImplementation {
    return Object.fromEntries(
      methods.map((method) => [
        method.desc.name,
        method.kind === "unary" ? this.#unaryHandler(method) : this.#streamHandler(method),
      ]),
    );
  }

  #unaryHandler(method: UnaryMethod): handleUnaryCall<Buffer, CopiedBytes> {
    return (call, callback) => {
      const open = this.#begin(method, call);
      const answer = async (): Promise<CopiedBytes> => {
        open.admit(call.request.length);
        const request = method.fromBinary(call.request, callerIn(call.metadata));
        open.namespace = request.namespace;
        return (await request.run(open.signal)).binary();
      };
      answer().then(
        (answered) => {
          callback(null, answered, trailersOf(open.id));
          // Until the caller has taken it the answer is memory, and the request is under way.
          whenLeft(call, () => open.end("OK"));
        },
        (error: unknown) => {
          const failure = open.failureOf(error);
          callback(failure === undefined ? CANCELLED : statusOf(failure, open.id));
          open.end(failure);
        },
      );
    };
  }

  #streamHandler(method: StreamMethod): handleServerStreamingCall<Buffer, CopiedBytes> {
    return (call) => {
      const open = this.#begin(method, call);
      const send = async (): Promise<void> => {
        open.admit(call.request.length);
        const request = method.fromBinary(call.request, callerIn(call.metadata));
        open.namespace = request.namespace;
        for await (const page of request.run(open.signal)) {
          await written(call, page.binary(), open.signal);
          open.progressed();
        }
      };
      send().then(
        () => {
          call.end(trailersOf(open.id));
          open.end("OK");
        },
        (error: unknown) => {
          const failure = open.failureOf(error);
          call.emit("error", failure === undefined ? CANCELLED : statusOf(failure, open.id));
          open.end(failure);
        },
      );
    };
  }

  #begin(
    method: Method,
    call: {
      readonly metadata: Metadata;
      getDeadline(): Date | number;
      on(event: "cancelled", listener: () => void): unknown;
    },
  ): OpenRequest {
    const { requests, clock } = this.#options;
    const deadline = Number(call.getDeadline());
    const leftMs = Number.isFinite(deadline) ? deadline - clock.nowMicros() / 1000 : undefined;
    const [id] = call.metadata.get(REQUEST_ID_HEADER);
    const open = requests.begin(method.desc.name, leftMs, callerRequestId(id));
    call.on("cancelled", () => open.callerGone());
    return open;
  }
}

/**
 * Calls back when all of an answer has left, or its caller has. The library has no word for it, so the
 * HTTP/2 stream behind the call is asked itself.
 */
function whenLeft(call: object, then: () => void): void {
  const inner: unknown = Reflect.get(call, "call");
  const stream: unknown =
    typeof inner === "object" && inner !== null ? Reflect.get(inner, "stream") : undefined;
  assert(stream instanceof EventEmitter, "the gRPC library keeps a call's HTTP/2 stream");
  if (Reflect.get(stream, "closed") === true) then();
  else stream.once("close", then);
}

function callerIn(metadata: Metadata): Caller {
  return callerOf(metadata.get(OPERATOR_HEADER)[0]);
}

const CANCELLED: Partial<StatusObject> = { code: status.CANCELLED, details: "cancelled" };

/** Resolves when the page has left for the socket; rejects when there is no more point in waiting. */
function written(
  call: ServerWritableStream<Buffer, CopiedBytes>,
  page: CopiedBytes,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener("abort", abort, { once: true });
    call.write(page, (error: Error | null | undefined) => {
      signal.removeEventListener("abort", abort);
      if (error) reject(error);
      else resolve();
    });
  });
}

function definitionOf(methods: readonly Method[]): ServiceDefinition {
  const asIs = (bytes: Buffer): Buffer => bytes;
  // Of what is sent the library asks for its length, and then to be copied behind the five bytes it puts in front.
  const asBuffer = (bytes: CopiedBytes): Buffer => bytes as Buffer;
  return Object.fromEntries(
    methods.map((method) => [
      method.desc.name,
      {
        path: pathOf(method),
        requestStream: false,
        responseStream: method.kind === "stream",
        requestSerialize: asIs,
        requestDeserialize: asIs,
        responseSerialize: asBuffer,
        responseDeserialize: asIs,
      },
    ]),
  );
}

/**
 * The library answers some things before a method sees them: messages that are too large, cannot be
 * unpacked or never came, and deadlines. Those answers get our codes too.
 */
function tellInOurWords(options: GrpcOptions): ServerInterceptor {
  const methods = new Map(options.methods.map((method) => [pathOf(method), method]));
  return (definition, call) => {
    const method = methods.get(definition.path);
    if (method !== undefined) {
      const send = call.sendStatus.bind(call);
      // Replaced on the call itself, as that is where the library's own answers begin.
      call.sendStatus = (said) => {
        const ours = said.code === status.OK || (said.metadata?.get(CODE_TRAILER).length ?? 0) > 0;
        const error = ours ? undefined : libraryError(said, method, options);
        if (error === undefined) {
          send(said);
          return;
        }
        const open = options.requests.begin(method.desc.name, undefined, undefined);
        // A deadline ends a call whose handler has begun, and counts it; the others never got to one.
        if (said.code === status.DEADLINE_EXCEEDED) open.forget();
        else open.end(error);
        send(statusOf(error, open.id));
      };
    }
    // The call is one already: there is nothing to wrap.
    return call as ServerInterceptingCall;
  };
}

function libraryError(
  said: Parameters<ServerInterceptingCall["sendStatus"]>[0],
  method: Method,
  options: GrpcOptions,
): ServiceError | undefined {
  switch (said.code) {
    case status.RESOURCE_EXHAUSTED:
      return new ServiceError(
        "REQUEST_TOO_LARGE",
        `the request is larger than ${options.requestBytesMax} bytes; send it in several`,
        { details: { limit: options.requestBytesMax } },
      );
    case status.DEADLINE_EXCEEDED:
      return method.changes
        ? new ServiceError(
            "OUTCOME_UNKNOWN",
            "the deadline was over before the answer; it may or may not have happened: look, or repeat it",
          )
        : new ServiceError("DEADLINE_EXCEEDED", "the deadline was over before the answer");
    case status.INTERNAL:
    case status.UNIMPLEMENTED:
      return new ServiceError(
        "REQUEST_INVALID",
        `the request cannot be read: ${said.details ?? "it is not a gRPC message"}`,
      );
    default:
      return undefined;
  }
}

/** On servers the library has no options for windows and header sizes, so its HTTP/2 server is asked itself. */
function widenWindows(server: Server): void {
  const servers: unknown = Reflect.get(server, "http2Servers");
  assert(servers instanceof Map && servers.size === 1, "the gRPC library keeps its HTTP/2 server");
  // The keys of that map are what `http2.createServer` made.
  const [http2] = servers.keys() as Iterable<Http2Server>;
  assert(http2 !== undefined, "the gRPC library keeps its HTTP/2 server");
  http2.updateSettings({
    initialWindowSize: STREAM_WINDOW_BYTES,
    maxHeaderListSize: HEADER_LIST_BYTES_MAX,
    maxConcurrentStreams: STREAMS_PER_CONNECTION_MAX,
  });
  http2.on("session", (session) => session.setLocalWindowSize(CONNECTION_WINDOW_BYTES));
}
