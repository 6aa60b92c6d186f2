/**
 * A method of the API as both adapters see it: how a request is taken, what answers it, how the answer is put.
 *
 * Methods know neither gRPC nor HTTP. A request comes as protobuf bytes or as parsed JSON, and an
 * answer is asked for in one of the two forms. Most methods work on messages; those that carry events
 * bring forms of their own, so that events are never decoded on their way.
 */
import { create, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import type {
  DescMessage,
  DescMethod,
  JsonValue,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { ServiceError } from "../../lib/errors.ts";
import { UNNAMED } from "../caller.ts";
import type { Caller } from "../caller.ts";
import { parseJsonBody } from "../json-body.ts";
import { checkJsonFields } from "./json-fields.ts";
import { checkMessageShape } from "./message-shape.ts";

/** Bytes that are copied once, to where they are wanted. Every Buffer is such. */
export interface CopiedBytes {
  readonly byteLength: number;
  copy(target: Uint8Array, at: number): unknown;
}

/** An answer that can be put in either form; only the one asked for is made. */
export interface Answer {
  /** What takes long comes as a promise, and is done in steps. */
  binary(): CopiedBytes | Promise<CopiedBytes>;
  json(): Uint8Array | string | Promise<Uint8Array | string>;
}

/** A request that was understood, and is not yet begun. */
export interface UnaryRequest {
  /** As the caller gave it: it need not exist. "" for a method without one. */
  readonly namespace: string;
  run(signal: AbortSignal): Promise<Answer>;
}

export interface StreamRequest {
  readonly namespace: string;
  run(signal: AbortSignal): AsyncIterable<Answer>;
}

interface MethodForm<R> {
  readonly desc: DescMethod;
  /** Whether a call that ended early may still have changed something. */
  readonly changes: boolean;
  /** Whether it reads events: such calls run in turns. */
  readonly reads?: boolean;
  /** A request may be no larger, as it comes and decompressed. */
  readonly requestBytesMax: number;
  /** Both throw REQUEST_INVALID with all that is wrong. What takes long comes as a promise, and is done in steps. */
  fromBinary(bytes: Uint8Array, caller?: Caller): R | Promise<R>;
  fromJson(body: Buffer, caller?: Caller): R | Promise<R>;
}

export interface UnaryMethod extends MethodForm<UnaryRequest> {
  readonly kind: "unary";
}

export interface StreamMethod extends MethodForm<StreamRequest> {
  readonly kind: "stream";
}

export type Method = UnaryMethod | StreamMethod;

/** `/braid.v1.ControlService/GetNamespace`: the same for gRPC and for HTTP. */
export function pathOf(method: { readonly desc: DescMethod }): string {
  return `/${method.desc.parent.typeName}/${method.desc.name}`;
}

/** Of a method that carries little: names, settings, a token. */
const REQUEST_BYTES_MAX = 64 * 1024;
const REQUEST_VALUES_MAX = 2_000;
/** Of a method that carries lists. */
export const LARGE_REQUEST_BYTES_MAX = 16 * 1024 * 1024;
export const LARGE_REQUEST_VALUES_MAX = 50_000;

/** A unary method on messages. */
export function messageMethod<I extends DescMessage, O extends DescMessage>(options: {
  desc: DescMethod & { input: I; output: O };
  changes: boolean;
  /** For those that carry lists. */
  requestBytesMax?: number;
  requestValuesMax?: number;
  namespaceOf: (input: MessageShape<I>) => string;
  handle: (
    input: MessageShape<I>,
    caller: Caller,
    signal: AbortSignal,
  ) => Promise<MessageInitShape<O>>;
}): UnaryMethod {
  const {
    desc,
    requestBytesMax = REQUEST_BYTES_MAX,
    requestValuesMax = REQUEST_VALUES_MAX,
  } = options;
  const requestOf = (input: MessageShape<I>, caller = UNNAMED): UnaryRequest => ({
    namespace: options.namespaceOf(input),
    run: async (signal) => messageAnswer(desc.output, await options.handle(input, caller, signal)),
  });
  return {
    kind: "unary",
    desc,
    changes: options.changes,
    requestBytesMax,
    fromBinary: (bytes, caller) =>
      requestOf(messageFromBinary(desc.input, bytes, requestValuesMax), caller),
    fromJson: (body, caller) =>
      requestOf(messageFromJson(desc.input, body, requestValuesMax), caller),
  };
}

export function messageFromBinary<T extends DescMessage>(
  schema: T,
  bytes: Uint8Array,
  valuesMax: number,
): MessageShape<T> {
  checkMessageShape(schema, bytes, valuesMax);
  try {
    return fromBinary(schema, bytes);
  } catch (cause) {
    throw new ServiceError(
      "REQUEST_INVALID",
      `the request is not a valid ${schema.typeName} message; see the proto files or /openapi.json`,
      { cause },
    );
  }
}

export function messageFromJson<T extends DescMessage>(
  schema: T,
  body: Buffer,
  valuesMax: number,
): MessageShape<T> {
  const value = parseJsonBody(body, valuesMax);
  // The library stops at the first problem; unknown fields, the most common ones, are all told.
  checkJsonFields(schema, value);
  try {
    // What JSON.parse returned is a JSON value.
    return fromJson(schema, value as JsonValue);
  } catch (cause) {
    const said = cause instanceof Error ? cause.message : String(cause);
    const problem = said.replace(/^cannot decode (field |message |enum )?/, "").slice(0, 300);
    throw new ServiceError("REQUEST_INVALID", problem, { details: { problems: [problem] }, cause });
  }
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
