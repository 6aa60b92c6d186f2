/** Lets a caller ask what this server speaks: `grpcurl` and its like work without our proto files. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { DescFile } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { DescriptorProto } from "@bufbuild/protobuf/wkt";
import type { Server } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { service as healthService } from "grpc-health-check";

type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0];

/** Adds reflection, v1 and v1alpha, for the services of these files and for health. */
export function addReflection(server: Server, files: readonly DescFile[]): void {
  const all = new Map<string, Uint8Array>();
  for (const file of files) addWithImports(file, all);
  const health = Object.values(healthService)
    .flatMap((method) => method.requestType.fileDescriptorProtos)
    .map(qualified);
  // The library looks for files in any entry of a package, so one entry that is only files is enough.
  const entry = {
    format: "braid descriptors",
    type: {},
    fileDescriptorProtos: [...all.values(), ...health].map((bytes) => Buffer.from(bytes)),
  };
  const files_: unknown = { files: entry };
  new ReflectionService(files_ as PackageDefinition).addToServer(server);
}

function addWithImports(file: DescFile, all: Map<string, Uint8Array>): void {
  if (all.has(file.proto.name)) return;
  for (const dependency of file.dependencies) addWithImports(dependency, all);
  all.set(file.proto.name, toBinary(FileDescriptorProtoSchema, file.proto));
}

/**
 * The health library names types as a proto file does, `HealthCheckResponse`, and leaves the names in
 * JSON empty; strict clients want what a compiler writes, `.grpc.health.v1.HealthCheckResponse`.
 */
function qualified(bytes: Uint8Array): Uint8Array {
  const file = fromBinary(FileDescriptorProtoSchema, bytes);
  const known = new Set<string>();
  const collect = (message: DescriptorProto, scope: string): void => {
    const name = `${scope}.${message.name}`;
    known.add(name);
    for (const type of message.enumType) known.add(`${name}.${type.name}`);
    for (const nested of message.nestedType) collect(nested, name);
  };
  const root = `.${file.package}`;
  for (const message of file.messageType) collect(message, root);
  for (const type of file.enumType) known.add(`${root}.${type.name}`);

  /** The nearest type of that name, looking from the inside out. */
  const resolve = (name: string, scope: string): string => {
    if (name === "" || name.startsWith(".")) return name;
    for (let at = scope; at !== ""; at = at.slice(0, at.lastIndexOf("."))) {
      if (known.has(`${at}.${name}`)) return `${at}.${name}`;
    }
    return name;
  };
  const qualify = (message: DescriptorProto, scope: string): void => {
    const name = `${scope}.${message.name}`;
    for (const field of message.field) {
      field.typeName = resolve(field.typeName, name);
      field.jsonName ||= field.name.replaceAll(/_(\w)/g, (_, letter: string) =>
        letter.toUpperCase(),
      );
    }
    for (const nested of message.nestedType) qualify(nested, name);
  };
  for (const message of file.messageType) qualify(message, root);
  for (const { method: methods } of file.service) {
    for (const method of methods) {
      method.inputType = resolve(method.inputType, root);
      method.outputType = resolve(method.outputType, root);
    }
  }
  return toBinary(FileDescriptorProtoSchema, file);
}
