/**
 * gRPC reflection: describes the services of this server, so that tools such as `grpcurl` need no
 * proto files.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { DescFile, DescMessage } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.js";
import type { ServerReflectionRequest } from "../../gen/grpc/reflection/v1/reflection_pb.js";
import type { BuiltInMethod } from "./grpc-built-in.ts";

type ResponseShape = MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"];

const NOT_FOUND = 5;

export class Reflection {
  readonly #files = new Map<string, DescFile>();
  /** The file of each service, method, message and enum. */
  readonly #symbols = new Map<string, DescFile>();

  constructor(files: readonly DescFile[]) {
    for (const file of files) this.#add(file);
  }

  /** Both versions have the same messages. */
  get methods(): ReadonlyMap<string, BuiltInMethod> {
    const info: BuiltInMethod = (messages) => this.#info(messages);
    return new Map(
      ["v1", "v1alpha"].map((version) => [
        `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
        info,
      ]),
    );
  }

  async *#info(messages: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
    for await (const message of messages) {
      const request = fromBinary(ServerReflectionRequestSchema, message);
      const response = create(ServerReflectionResponseSchema, {
        validHost: request.host,
        originalRequest: request,
        messageResponse: this.#responseTo(request),
      });
      yield toBinary(ServerReflectionResponseSchema, response);
    }
  }

  #responseTo({ messageRequest: asked }: ServerReflectionRequest): NonNullable<ResponseShape> {
    switch (asked.case) {
      case "listServices":
        return { case: "listServicesResponse", value: { service: this.#services() } };
      case "fileByFilename":
        return fileResponse(this.#files.get(asked.value), asked.value);
      case "fileContainingSymbol":
        return fileResponse(this.#symbols.get(asked.value), asked.value);
      case "allExtensionNumbersOfType":
        return {
          case: "allExtensionNumbersResponse",
          value: { baseTypeName: asked.value, extensionNumber: [] },
        };
      default:
        return notFound("such a descriptor");
    }
  }

  #services(): { name: string }[] {
    const names = [...this.#files.values()].flatMap((file) =>
      file.services.map(({ typeName }) => typeName),
    );
    return names.toSorted().map((name) => ({ name }));
  }

  #add(file: DescFile): void {
    if (this.#files.has(file.proto.name)) return;
    for (const dependency of file.dependencies) this.#add(dependency);
    this.#files.set(file.proto.name, file);
    for (const service of file.services) {
      this.#symbols.set(service.typeName, file);
      for (const { name } of service.methods)
        this.#symbols.set(`${service.typeName}.${name}`, file);
    }
    for (const { typeName } of file.enums) this.#symbols.set(typeName, file);
    for (const message of file.messages) this.#addMessage(message, file);
  }

  #addMessage(message: DescMessage, file: DescFile): void {
    this.#symbols.set(message.typeName, file);
    for (const { typeName } of message.nestedEnums) this.#symbols.set(typeName, file);
    for (const nested of message.nestedMessages) this.#addMessage(nested, file);
  }
}

/** The file with all its imports, so that one request is enough. */
function fileResponse(file: DescFile | undefined, name: string): NonNullable<ResponseShape> {
  if (file === undefined) return notFound(name);
  const all = new Map<string, Uint8Array>();
  const collect = (each: DescFile): void => {
    if (all.has(each.proto.name)) return;
    all.set(each.proto.name, toBinary(FileDescriptorProtoSchema, each.proto));
    for (const dependency of each.dependencies) collect(dependency);
  };
  collect(file);
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto: [...all.values()] } };
}

function notFound(what: string): NonNullable<ResponseShape> {
  const errorMessage = `there is no ${what.slice(0, 200)}`;
  return { case: "errorResponse", value: { errorCode: NOT_FOUND, errorMessage } };
}
