/**
 * Connect's own conformance suite against Braid's transport and protocols: Connect over HTTP/1.1 and
 * HTTP/2, and gRPC. docs/specs/connect.md lists what the suite has and Braid has not.
 *
 * @needs go
 */
import { equal, match } from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { installedOnce, madeOnce, runGo, runProgram } from "../support/go-programs.ts";

const VERSION = "v1.0.6";
const MODULE = "connectrpc.com/conformance";
const BUF = join(import.meta.dirname, "../../node_modules/.bin/buf");

interface Protocol {
  readonly name: string;
  readonly versions: readonly string[];
  readonly codecs: readonly string[];
  readonly get: boolean;
  readonly cases: number;
}

const PROTOCOLS: readonly Protocol[] = [
  {
    name: "PROTOCOL_CONNECT",
    versions: ["HTTP_VERSION_1", "HTTP_VERSION_2"],
    codecs: ["CODEC_PROTO", "CODEC_JSON"],
    get: true,
    cases: 584,
  },
  {
    name: "PROTOCOL_GRPC",
    versions: ["HTTP_VERSION_2"],
    codecs: ["CODEC_PROTO"],
    get: false,
    cases: 236,
  },
];

let suite: string;
/** The descriptors of the suite's messages. */
let image: string;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "braid-conformance-"));
  suite = await installedOnce(`${MODULE}/cmd/connectconformance`, VERSION);
  image = await madeOnce(`connectconformance-${VERSION}.binpb`, async (work) => {
    const listed = await runGo(["mod", "download", "-json", `${MODULE}@${VERSION}`]);
    const { Dir: source } = JSON.parse(listed) as { Dir: string };
    const made = join(work, "image.binpb");
    const args = ["build", join(source, "proto"), "--as-file-descriptor-set", "-o", made];
    const built = await runProgram(BUF, args, { cwd: work });
    equal(built.code, 0, built.err);
    return made;
  });
});

after(async () => {
  await rm(folder, { recursive: true, force: true });
});

for (const protocol of PROTOCOLS) {
  test(`every case of the suite for ${protocol.name} passes`, async () => {
    const config = join(folder, `${protocol.name}.yaml`);
    // JSON is YAML too.
    await writeFile(config, JSON.stringify({ features: featuresOf(protocol) }));
    const hook = new URL("conformance-hook.ts", import.meta.url).href;
    const server = join(import.meta.dirname, "conformance-server.ts");
    const flags = ["--mode", "server", "--conf", config, "--parallel", "4", "--max-servers", "2"];
    const command = [process.execPath, "--import", hook, server];
    const env = { BRAID_CONFORMANCE_IMAGE: image };
    const { code, out, err } = await runProgram(suite, [...flags, "--", ...command], { env });
    equal(code, 0, `${out.slice(-4_000)}${err}`);
    match(out, new RegExp(`Total cases: ${protocol.cases}\\n${protocol.cases} passed, 0 failed`));
  });
}

function featuresOf({ name, versions, codecs, get }: Protocol): object {
  return {
    versions,
    protocols: [name],
    codecs,
    compressions: ["COMPRESSION_IDENTITY", "COMPRESSION_GZIP"],
    streamTypes: ["STREAM_TYPE_UNARY", "STREAM_TYPE_SERVER_STREAM"],
    supportsH2c: true,
    supportsTls: false,
    supportsConnectGet: get,
    supportsMessageReceiveLimit: true,
    supportsHalfDuplexBidiOverHttp1: false,
  };
}
