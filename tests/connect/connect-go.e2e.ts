/**
 * The service as Go programs see it through connect-go: over HTTP/1.1 and HTTP/2, in proto and JSON,
 * with and without gzip, by GET, and over gRPC.
 *
 * @needs go
 */
import { equal, ok } from "node:assert/strict";
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { metricOf, until } from "../support/conditions.ts";
import { madeOnce, runGo, runProgram } from "../support/go-programs.ts";
import { startServer } from "../support/started-server.ts";

const ROOT = join(import.meta.dirname, "../..");
const SOURCE = join(import.meta.dirname, "go-client");
const PROTO = join(ROOT, "proto");
const BUF = join(ROOT, "node_modules", ".bin", "buf");

/** The plugins are tools of the Go module, so its go.sum pins them too. */
const TEMPLATE = JSON.stringify({
  version: "v2",
  managed: {
    enabled: true,
    override: [{ file_option: "go_package_prefix", value: "braid.test/connect/gen" }],
  },
  plugins: ["protoc-gen-go", "protoc-gen-connect-go"].map((plugin) => ({
    local: ["go", "tool", plugin],
    out: "gen",
    opt: ["paths=source_relative"],
  })),
});

test("connect-go writes, reads, streams, fails with details, keeps deadlines and cancels", async () => {
  const client = await builtClient();
  await using server = await startServer();
  const { code, out, err } = await runProgram(client, [server.url]);
  equal(code, 0, `${out}${err}`);
  const lines = out.trim().split("\n");
  equal(lines.length, 13 * 4, out);
  ok(lines.includes("HTTP/1.1, proto: writes and reads the same events"), out);
  ok(lines.includes("HTTP/2, json with gzip: a cancelled stream is canceled"), out);
  await until(async () => (await metricOf(server.url, "braid_requests_in_flight")) === 0);
  equal(await metricOf(server.url, "braid_request_bytes_in_flight"), 0);
});

async function builtClient(): Promise<string> {
  const hash = createHash("sha256").update(TEMPLATE);
  for (const pattern of [join(SOURCE, "*"), join(PROTO, "**/*.proto")]) {
    for (const file of globSync(pattern).toSorted()) hash.update(readFileSync(file));
  }
  return madeOnce(`connect-go-client-${hash.digest("hex").slice(0, 16)}`, async (folder) => {
    await cp(SOURCE, folder, { recursive: true });
    const args = ["generate", PROTO, "--template", TEMPLATE];
    const generated = await runProgram(BUF, args, { cwd: folder, env: { GOFLAGS: "" } });
    equal(generated.code, 0, generated.err);
    await runGo(["build", "-o", "client", "."], { cwd: folder });
    return join(folder, "client");
  });
}
