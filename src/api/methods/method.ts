/**
 * A method of the API as both protocols see it: how to decode a request, what answers it, how to
 * encode the answer.
 *
 * Methods know neither gRPC nor HTTP. A request arrives as protobuf bytes or as parsed JSON, and
 * the caller wants its answer in one of these forms. Most methods work on messages. Methods that
 * carry events have encodings of their own, so that events pass through undecoded.
 */
import { create, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import type {
  DescMessage,
  DescMethod,
  JsonValue,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { Problems } from "../../lib/problems.ts";
import { UNNAMED } from "../caller.ts";
import type { Caller } from "../caller.ts";
import { parseJsonBody } from "../json-body.ts";
import { soundFields } from "./json-fields.ts";
import { checkMessageShape } from "./message-shape.ts";

/** Bytes that are copied once, straight to their destination. Every Buffer fits. */
export interface CopiedBytes {
  readonly byteLength: number;
  copy(target: Uint8Array, at: number): unknown;
}

/** An answer that can take either form; only the requested form is made. */
export interface Answer {
  /** What takes long comes as a promise, and is done in steps. */
  binary(): CopiedBytes | Promise<CopiedBytes>;
  json(): Uint8Array | string | Promise<Uint8Array | string>;
}

/** A request that is decoded but not started. */
export interface UnaryRequest {
  /** As the caller gave it; it may not exist. "" for a method without a namespace. */
  readonly namespace: string;
  run(signal: AbortSignal): Promise<Answer>;
}

export interface StreamRequest {
  readonly namespace: string;
  run(signal: AbortSignal): AsyncIterable<Answer>;
}

export interface MethodForm<R> {
  readonly desc: DescMethod;
  /** Whether a call that ended early may still have changed something. */
  readonly changes: boolean;
  /** Whether it reads events: such calls wait in the fair queue. */
  readonly reads?: boolean;
  /** The largest request, as received and after decompression. */
  readonly requestBytesMax: number;
  /**
   * `problems` are those of the request's headers. Either this or `run` throws REQUEST_INVALID with
   * every problem of the request, before anything is done. Long work returns a promise and runs in
   * steps.
   */
  fromBinary(bytes: Uint8Array, caller?: Caller, problems?: Problems): R | Promise<R>;
  fromJson(body: Buffer, caller?: Caller, problems?: Problems): R | Promise<R>;
}

export interface UnaryMethod extends MethodForm<UnaryRequest> {
  readonly kind: "unary";
}

export interface StreamMethod extends MethodForm<StreamRequest> {
  readonly kind: "stream";
  /** It lasts until the caller leaves: such calls have a limit of their own. */
  readonly lasting?: boolean;
}

export type Method = UnaryMethod | StreamMethod;

/** `/braid.v1.ControlService/GetNamespace`: the same for gRPC and for HTTP. */
export function pathOf(method: { readonly desc: DescMethod }): string {
  return `/${method.desc.parent.typeName}/${method.desc.name}`;
}

/** For a method whose requests are small: names, settings, a token. */
const REQUEST_BYTES_MAX = 64 * 1024;
const REQUEST_VALUES_MAX = 2_000;
/** For a method whose requests carry lists. */
export const LARGE_REQUEST_BYTES_MAX = 16 * 1024 * 1024;
export const LARGE_REQUEST_VALUES_MAX = 50_000;

/** A unary method on messages. */
export function messageMethod<I extends DescMessage, O extends DescMessage, A>(options: {
  desc: DescMethod & { input: I; output: O };
  changes: boolean;
  /** For methods whose requests carry lists. */
  requestBytesMax?: number;
  requestValuesMax?: number;
  namespaceOf: (input: MessageShape<I>) => string;
  /** Reads what `handle` needs. Adds every problem that it can find, and changes nothing. */
  argumentsOf: (input: MessageShape<I>, problems: Problems, caller: Caller) => A | Promise<A>;
  /** Called only if the request has no problem. */
  handle: (given: A, signal: AbortSignal) => Promise<MessageInitShape<O>>;
}): UnaryMethod {
  const {
    desc,
    requestBytesMax = REQUEST_BYTES_MAX,
    requestValuesMax = REQUEST_VALUES_MAX,
  } = options;
  const requestOf = (input: MessageShape<I>, problems: Problems, caller: Caller): UnaryRequest => ({
    namespace: options.namespaceOf(input),
    run: async (signal) => {
      const given = await options.argumentsOf(input, problems, caller);
      problems.throwIfAny("REQUEST_INVALID");
      return messageAnswer(desc.output, await options.handle(given, signal));
    },
  });
  return {
    kind: "unary",
    desc,
    changes: options.changes,
    requestBytesMax,
    fromBinary: (bytes, caller = UNNAMED, problems = new Problems()) =>
      requestOf(messageFromBinary(desc.input, bytes, requestValuesMax, problems), problems, caller),
    fromJson: (body, caller = UNNAMED, problems = new Problems()) =>
      requestOf(messageFromJson(desc.input, body, requestValuesMax, problems), problems, caller),
  };
}

export function messageFromBinary<T extends DescMessage>(
  schema: T,
  bytes: Uint8Array,
  valuesMax: number,
  problems: Problems,
): MessageShape<T> {
  checkMessageShape(schema, bytes, valuesMax);
  try {
    return fromBinary(schema, bytes);
  } catch {
    problems.add(
      `the request is not a valid ${schema.typeName} message; see the proto files or /openapi.json`,
    );
    return refused(problems);
  }
}

/** The message with the fields that are sound. Adds the problems of the others. */
export function messageFromJson<T extends DescMessage>(
  schema: T,
  body: Buffer,
  valuesMax: number,
  problems: Problems,
): MessageShape<T> {
  const value = soundFields(schema, parseJsonBody(body, valuesMax, problems), problems);
  try {
    // Its values come from JSON.parse, so it is a JSON value.
    return fromJson(schema, value as JsonValue);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    problems.add(message.replace(/^cannot decode (field |message |enum )?/, "").slice(0, 300));
    return refused(problems);
  }
}

/** For a request that cannot be decoded: nobody can know its other problems. */
function refused(problems: Problems): never {
  problems.throwIfAny("REQUEST_INVALID");
  throw new Error("a request is refused only with a problem");
}

export function messageAnswer<T extends DescMessage>(schema: T, init: MessageInitShape<T>): Answer {
  return {
    binary: () => messageBytes(schema, init),
    json: () => JSON.stringify(toJson(schema, create(schema, init), { alwaysEmitImplicit: true })),
  };
}

export function messageBytes<T extends DescMessage>(schema: T, init: MessageInitShape<T>): Buffer {
  const { buffer, byteOffset, byteLength } = toBinary(schema, create(schema, init));
  return Buffer.from(buffer, byteOffset, byteLength);
}
