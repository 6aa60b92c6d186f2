/**
 * A gRPC client without our proto files: it asks the server's reflection service, as grpcurl does,
 * and exchanges JSON with the test.
 */
import {
  create,
  createFileRegistry,
  fromBinary,
  fromJson,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import type { DescMethod, FileRegistry, JsonValue } from "@bufbuild/protobuf";
import {
  anyUnpack,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import type { FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Client, credentials, Metadata, status } from "@grpc/grpc-js";
import { ErrorInfoSchema, RetryInfoSchema } from "../../src/gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../src/gen/google/rpc/status_pb.js";

const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

/** Field numbers of a ServerReflectionRequest and of the parts of its response that are read. */
const ASK = { fileByFilename: 3, fileContainingSymbol: 4, listServices: 7 } as const;
const TOLD = { files: 4, services: 6, error: 7 } as const;

const asIs = (bytes: Buffer): Buffer => bytes;

export interface GrpcAnswer {
  /** Undefined if it failed. */
  readonly json: Record<string, JsonValue> | undefined;
  readonly status: number;
  readonly message: string;
  readonly trailers: Metadata;
}

export interface StreamedMessage {
  readonly bytes: number;
  /** Converted on demand: large messages take a while. */
  readonly json: () => Record<string, JsonValue>;
}

/** The machine-readable part of an error. */
export interface ErrorFacts {
  readonly reason: string;
  readonly domain: string;
  readonly facts: Readonly<Record<string, string>>;
  readonly retryMs: number | undefined;
}

export class ReflectedClient {
  readonly #client: Client;
  readonly #registry: FileRegistry;
  readonly services: readonly string[];

  private constructor(client: Client, registry: FileRegistry, services: readonly string[]) {
    this.#client = client;
    this.#registry = registry;
    this.services = services;
  }

  /** With the library's default limits. */
  static async connect(url: string): Promise<ReflectedClient> {
    const client = new Client(new URL(url).host, credentials.createInsecure());
    const listed = await ask(client, ASK.listServices, "*");
    const services = fieldsOf(listed, TOLD.services)
      .flatMap((list) => fieldsOf(list, 1))
      .map((service) => Buffer.from(fieldsOf(service, 1)[0] ?? []).toString());
    const files = new Map<string, FileDescriptorProto>();
    for (const service of services.filter((name) => !name.startsWith("grpc.reflection."))) {
      addFiles(files, await ask(client, ASK.fileContainingSymbol, service));
    }
    // A server may leave imports to be requested by name.
    for (const { dependency } of files.values()) {
      for (const name of dependency) {
        if (!files.has(name)) addFiles(files, await ask(client, ASK.fileByFilename, name));
      }
    }
    const set = create(FileDescriptorSetSchema, { file: importsFirst(files) });
    return new ReflectedClient(client, createFileRegistry(set), services);
  }

  /**
   * `braid.v1.ControlService/GetNamespace`; does not reject for an error that the server answers.
   */
  call(method: string, json: JsonValue): Promise<GrpcAnswer> {
    const desc = this.#method(method);
    return new Promise((resolve) => {
      let trailers = new Metadata();
      const request = this.#encode(desc, json);
      const path = `/${desc.parent.typeName}/${desc.name}`;
      const made = this.#client.makeUnaryRequest(path, asIs, asIs, request, (error, bytes) => {
        // The status comes after this callback.
        setImmediate(() => {
          if (error === null) {
            const answer = this.#decode(desc, bytes ?? Buffer.alloc(0));
            resolve({ json: answer, status: status.OK, message: "", trailers });
          } else {
            const { code, details, metadata } = error;
            resolve({ json: undefined, status: code, message: details, trailers: metadata });
          }
        });
      });
      made.on("status", (said) => {
        trailers = said.metadata;
      });
    });
  }

  /** The messages of a stream; throws the library's error. */
  async *stream(method: string, json: JsonValue): AsyncGenerator<StreamedMessage, void, undefined> {
    const desc = this.#method(method);
    const path = `/${desc.parent.typeName}/${desc.name}`;
    const call = this.#client.makeServerStreamRequest(path, asIs, asIs, this.#encode(desc, json));
    for await (const bytes of call as AsyncIterable<Buffer>) {
      yield { json: () => this.#decode(desc, bytes), bytes: bytes.length };
    }
  }

  /** The bytes of a request, for a test that sends them itself. */
  encode(method: string, json: JsonValue): Buffer {
    return this.#encode(this.#method(method), json);
  }

  close(): void {
    this.#client.close();
  }

  #method(method: string): DescMethod {
    const [service = "", name] = method.split("/");
    const found = this.#registry.getService(service)?.methods.find((each) => each.name === name);
    if (found === undefined) throw new Error(`reflection does not know ${method}`);
    return found;
  }

  #encode(desc: DescMethod, json: JsonValue): Buffer {
    const message = fromJson(desc.input, json, { registry: this.#registry });
    return Buffer.from(toBinary(desc.input, message));
  }

  #decode(desc: DescMethod, bytes: Uint8Array): Record<string, JsonValue> {
    const message = fromBinary(desc.output, bytes);
    const options = { registry: this.#registry, alwaysEmitImplicit: true };
    // None of our answers is one of the types whose JSON is not an object.
    return toJson(desc.output, message, options) as Record<string, JsonValue>;
  }
}

/** The contents of `grpc-status-details-bin`. */
export function errorFacts(richStatus: Uint8Array): ErrorFacts {
  const { details } = fromBinary(StatusSchema, richStatus);
  const info = details.map((any) => anyUnpack(any, ErrorInfoSchema)).find((found) => found);
  const retry = details.map((any) => anyUnpack(any, RetryInfoSchema)).find((found) => found);
  const delay = retry?.retryDelay;
  return {
    reason: info?.reason ?? "",
    domain: info?.domain ?? "",
    facts: info?.metadata ?? {},
    retryMs: delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6,
  };
}

function ask(client: Client, field: number, text: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const stream = client.makeBidiStreamRequest(REFLECTION, asIs, asIs);
    stream.on("data", (bytes: Buffer) => {
      const [error] = fieldsOf(bytes, TOLD.error);
      if (error === undefined) resolve(bytes);
      else reject(new Error(`reflection: ${Buffer.from(fieldsOf(error, 2)[0] ?? []).toString()}`));
    });
    stream.on("error", reject);
    stream.write(
      Buffer.from(new BinaryWriter().tag(field, WireType.LengthDelimited).string(text).finish()),
    );
    stream.end();
  });
}

function addFiles(files: Map<string, FileDescriptorProto>, told: Uint8Array): void {
  for (const bytes of fieldsOf(told, TOLD.files).flatMap((list) => fieldsOf(list, 1))) {
    const file = fromBinary(FileDescriptorProtoSchema, bytes);
    files.set(file.name, file);
  }
}

/** The values of a field that is a message, bytes or text. */
function fieldsOf(message: Uint8Array, wanted: number): Uint8Array[] {
  const reader = new BinaryReader(message);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === wanted && type === WireType.LengthDelimited) found.push(reader.bytes());
    else reader.skip(type);
  }
  return found;
}

/** A set of files must list imports before the files that use them. */
function importsFirst(files: ReadonlyMap<string, FileDescriptorProto>): FileDescriptorProto[] {
  const ordered = new Set<FileDescriptorProto>();
  const add = (name: string): void => {
    const file = files.get(name);
    if (file === undefined || ordered.has(file)) return;
    for (const dependency of file.dependency) add(dependency);
    ordered.add(file);
  };
  for (const name of files.keys()) add(name);
  return [...ordered];
}
