/**
 * The test service of Connect's conformance suite, on Braid's transport and protocols.
 *
 * The suite starts it, writes what it wants to stdin, reads the address from stdout and ends it with
 * SIGTERM. BRAID_CONFORMANCE_IMAGE names the suite's descriptors.
 */
import { readFileSync } from "node:fs";
import type { OutgoingHttpHeaders } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import {
  create,
  createFileRegistry,
  fromBinary,
  fromJson,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import type { DescMessage, DescMethod, JsonValue, Message } from "@bufbuild/protobuf";
import { anyPack, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { Any } from "@bufbuild/protobuf/wkt";
import { Calls } from "../../src/api/calls.ts";
import type { Call } from "../../src/api/calls.ts";
import { Dispatch } from "../../src/api/dispatch.ts";
import { HttpPages } from "../../src/api/http-pages.ts";
import type { Answer, Method, StreamRequest, UnaryRequest } from "../../src/api/methods/method.ts";
import { BuiltInMethods } from "../../src/api/protocols/grpc-built-in.ts";
import { connectTimeoutMs } from "../../src/api/protocols/connect-request.ts";
import { grpcTimeoutMs } from "../../src/api/protocols/grpc.ts";
import type { Exchange } from "../../src/api/transport/exchange.ts";
import { Port } from "../../src/api/transport/port.ts";
import { ByteBudget } from "../../src/lib/byte-budget.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { ServiceError } from "../../src/lib/errors.ts";
import { FairQueue } from "../../src/lib/fair-queue.ts";
import { silentLog } from "../../src/lib/log.ts";
import { Metrics } from "../../src/lib/metrics.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { WantedError } from "./conformance-status.ts";

const PACKAGE = "connectrpc.conformance.v1";
const image = readFileSync(process.env["BRAID_CONFORMANCE_IMAGE"] ?? "");
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, image));

/** The fields of the suite's messages that are used here. */
interface Header {
  readonly name: string;
  readonly value: readonly string[];
}

interface Wanted {
  readonly responseHeaders: readonly Header[];
  readonly responseTrailers: readonly Header[];
  readonly responseDelayMs: number;
}

interface WantedFailure {
  readonly code: number;
  readonly message?: string;
  readonly details: readonly Any[];
}

interface UnaryInput extends Message {
  readonly responseDefinition?: Wanted & {
    readonly response:
      | { readonly case: "responseData"; readonly value: Uint8Array }
      | { readonly case: "error"; readonly value: WantedFailure }
      | { readonly case: undefined };
  };
}

interface StreamInput extends Message {
  readonly responseDefinition?: Wanted & {
    readonly responseData: readonly Uint8Array[];
    readonly error?: WantedFailure;
  };
}

interface Start extends Message {
  readonly messageReceiveLimit: number;
}

/** The suite's descriptors are read at run time, so the shape of a message is the reader's claim. */
function schemaOf(name: string): DescMessage {
  const schema = registry.getMessage(`${PACKAGE}.${name}`);
  if (schema === undefined) throw new Error(`the suite has no message ${name}`);
  return schema;
}

class ConformanceCalls extends Calls {
  readonly #of = new WeakMap<Exchange, Call>();

  override begin(exchange: Exchange, method: Method, deadlineMs: number | undefined): Call {
    const call = super.begin(exchange, method, deadlineMs);
    this.#of.set(exchange, call);
    return call;
  }

  of(exchange: Exchange): Call {
    const call = this.#of.get(exchange);
    if (call === undefined) throw new Error("a method runs in a call");
    return call;
  }
}

/** The methods for one exchange: they report its headers and set those of the answer. */
function methodsFor(exchange: Exchange, calls: ConformanceCalls, bytesMax: number): Method[] {
  const service = registry.getService(`${PACKAGE}.ConformanceService`);
  if (service === undefined) throw new Error("the suite has a service");
  const call = (): Call => calls.of(exchange);
  return service.methods.flatMap((desc): Method[] => {
    const form = { desc, changes: false, requestBytesMax: bytesMax };
    switch (desc.name) {
      case "Unary":
      case "IdempotentUnary":
        return [
          {
            ...form,
            kind: "unary",
            fromBinary: (bytes) => unary(desc, call(), fromBinary(desc.input, bytes)),
            fromJson: (body) => unary(desc, call(), messageOf(desc, body)),
          },
        ];
      case "ServerStream":
        return [
          {
            ...form,
            kind: "stream",
            fromBinary: (bytes) => stream(desc, call(), fromBinary(desc.input, bytes)),
            fromJson: (body) => stream(desc, call(), messageOf(desc, body)),
          },
        ];
      case "Unimplemented":
        return [{ ...form, kind: "unary", fromBinary: unimplemented, fromJson: unimplemented }];
      default:
        return [];
    }
  });
}

function unimplemented(): UnaryRequest {
  throw new ServiceError("NOT_SUPPORTED", "this method is not implemented");
}

function messageOf(desc: DescMethod, body: Buffer): Message {
  return fromJson(desc.input, JSON.parse(body.toString()) as JsonValue, { registry });
}

function unary(desc: DescMethod, call: Call, message: Message): UnaryRequest {
  const { responseDefinition: wanted } = message as UnaryInput;
  return {
    namespace: "",
    run: async (signal) => {
      setMetadata(call, wanted);
      await pause(wanted?.responseDelayMs ?? 0, undefined, { signal });
      const info = requestInfo(desc, call, message);
      if (wanted?.response.case === "error") throw wantedError(wanted.response.value, info);
      const data = wanted?.response.case === "responseData" ? wanted.response.value : undefined;
      return answerOf(desc, { ...(data && { data }), requestInfo: info });
    },
  };
}

function stream(desc: DescMethod, call: Call, message: Message): StreamRequest {
  const { responseDefinition: wanted } = message as StreamInput;
  return {
    namespace: "",
    async *run(signal) {
      setMetadata(call, wanted);
      const info = requestInfo(desc, call, message);
      const all = wanted?.responseData ?? [];
      for (const [i, data] of all.entries()) {
        await pause(wanted?.responseDelayMs ?? 0, undefined, { signal });
        yield answerOf(desc, { data, ...(i === 0 && { requestInfo: info }) });
      }
      if (wanted?.error !== undefined) {
        throw wantedError(wanted.error, all.length === 0 ? info : undefined);
      }
    },
  };
}

function answerOf(desc: DescMethod, payload: object): Answer {
  const message = create(desc.output, { payload });
  return {
    binary: () => Buffer.from(toBinary(desc.output, message)),
    json: () => JSON.stringify(toJson(desc.output, message, { registry })),
  };
}

function wantedError({ code, message, details }: WantedFailure, info?: Message): WantedError {
  const all = info === undefined ? details : [...details, anyPack(schemaOf(INFO), info)];
  return new WantedError(code, message ?? "", all);
}

const INFO = "ConformancePayload.RequestInfo";

function requestInfo({ input }: DescMethod, { exchange }: Call, message: Message): Message {
  const { headers, verb, query } = exchange;
  const timeout = connectTimeoutMs(exchange) ?? grpcTimeoutMs(exchange);
  return create(schemaOf(INFO), {
    requestHeaders: headerList(Object.entries(headers)),
    requests: [anyPack(input, message)],
    ...(timeout !== undefined && { timeoutMs: BigInt(Math.round(timeout)) }),
    ...(verb === "GET" && {
      connectGetInfo: { queryParams: headerList([...new URLSearchParams(query)]) },
    }),
  });
}

function headerList(
  pairs: readonly (readonly [string, string | string[] | undefined])[],
): object[] {
  return pairs
    .filter(([name]) => !name.startsWith(":"))
    .map(([name, value]) => ({ name, value: [value ?? ""].flat() }));
}

function setMetadata(call: Call, wanted: Wanted | undefined): void {
  add(call.head, wanted?.responseHeaders ?? []);
  add(call.trailers, wanted?.responseTrailers ?? []);
}

function add(to: OutgoingHttpHeaders, headers: readonly Header[]): void {
  for (const { name, value } of headers) to[name.toLowerCase()] = [...value];
}

async function readStart(): Promise<Start> {
  let held = Buffer.alloc(0);
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    held = Buffer.concat([held, chunk]);
    if (held.length >= 4 && held.length >= 4 + held.readUInt32BE(0)) break;
  }
  return fromBinary(schemaOf("ServerCompatRequest"), held.subarray(4)) as Start;
}

async function serve(): Promise<void> {
  const { messageReceiveLimit } = await readStart();
  const log = silentLog;
  const clock = systemClock;
  const random = systemRandom;
  const calls = new ConformanceCalls({
    clock,
    random,
    log,
    inFlightMax: 1_000,
    budget: new ByteBudget(256 * 1024 * 1024),
    reads: new FairQueue(clock, 100),
    readWaitMsMax: () => 10_000,
    namespaceExists: () => false,
  });
  const pages = new HttpPages({
    metrics: new Metrics(),
    methods: [],
    notReady: () => undefined,
    readyDetail: () => undefined,
  });
  const builtIn = new BuiltInMethods(clock, new Map());
  const failed = (error: unknown): void => {
    process.stderr.write(`${String(error)}\n`);
  };
  const port = await Port.open({
    clock,
    random,
    host: "127.0.0.1",
    port: 0,
    connectionsMax: 1_000,
    requestsMax: 1_000,
    bytesMax: 64 * 1024 * 1024,
    handle: (exchange) => {
      const methods = methodsFor(exchange, calls, messageReceiveLimit);
      const options = { methods, calls, pages, builtIn, allowedHosts: [], failed };
      new Dispatch(options).handle(exchange);
    },
  });
  const schema = schemaOf("ServerCompatResponse");
  const started = create(schema, { host: "127.0.0.1", port: port.port });
  const bytes = toBinary(schema, started);
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(bytes.length);
  process.stdout.write(Buffer.concat([prefix, bytes]));
}

await serve();
