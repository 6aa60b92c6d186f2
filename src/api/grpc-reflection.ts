/** Lets a caller ask what this server speaks: `grpcurl` and its like work without our proto files. */
import { toBinary } from "@bufbuild/protobuf";
import type { DescFile } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Server } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { file_google_rpc_error_details } from "../gen/google/rpc/error_details_pb.js";
import { file_google_rpc_status } from "../gen/google/rpc/status_pb.js";
import { file_grpc_health_v1_health } from "../gen/grpc/health/v1/health_pb.js";

type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0];

/**
 * What every server of ours speaks beside its services. The descriptors of health are our own: those of the
 * health library lack what a compiler writes for a map, and Go's clients refuse the whole file for it. The
 * details of errors are in no service's imports, but a client that shows an error looks them up by name.
 */
const ALWAYS: readonly DescFile[] = [
  file_grpc_health_v1_health,
  file_google_rpc_error_details,
  file_google_rpc_status,
];

/** Adds reflection, v1 and v1alpha, for the services of these files, for health, and for the details of errors. */
export function addReflection(server: Server, files: readonly DescFile[]): void {
  const all = new Map<string, Uint8Array>();
  for (const file of [...files, ...ALWAYS]) addWithImports(file, all);
  // The library looks for files in any entry of a package, so one entry that is only files is enough.
  const entry = {
    format: "braid descriptors",
    type: {},
    fileDescriptorProtos: [...all.values()].map((bytes) => Buffer.from(bytes)),
  };
  const files_: unknown = { files: entry };
  new ReflectionService(files_ as PackageDefinition).addToServer(server);
}

function addWithImports(file: DescFile, all: Map<string, Uint8Array>): void {
  if (all.has(file.proto.name)) return;
  for (const dependency of file.dependencies) addWithImports(dependency, all);
  all.set(file.proto.name, toBinary(FileDescriptorProtoSchema, file.proto));
}
