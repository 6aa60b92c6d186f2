/** Lets a caller ask what this server speaks: `grpcurl` and its like work without our proto files. */
import { toBinary } from "@bufbuild/protobuf";
import type { DescFile } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Server } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { service as healthService } from "grpc-health-check";

type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0];

/** Adds reflection, v1 and v1alpha, for the services of these files and for health. */
export function addReflection(server: Server, files: readonly DescFile[]): void {
  const all = new Map<string, Uint8Array>();
  for (const file of files) addWithImports(file, all);
  const health = Object.values(healthService).flatMap(
    (method) => method.requestType.fileDescriptorProtos,
  );
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
