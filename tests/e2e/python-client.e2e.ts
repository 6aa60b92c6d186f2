/**
 * The service as Python clients see it: grpcio, whose transport is C++ and not Node's. The test
 * installs it once and keeps it outside the tree.
 *
 * @needs python
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { metricOf, until } from "../support/conditions.ts";
import { startServer } from "../support/started-server.ts";

const run = promisify(execFile);
const VERSION = "1.76.0";
const CACHE = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "braid-tests");
const PACKAGES = join(CACHE, `grpcio-${VERSION}`);
const SCRIPT = new URL("./python-client.py", import.meta.url).pathname;

async function installOnce(): Promise<void> {
  if (existsSync(PACKAGES)) return;
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, "installing-"));
  try {
    const packages = ["grpcio", "grpcio-reflection", "grpcio-status"];
    const wanted = packages.map((name) => `${name}==${VERSION}`);
    const flags = ["--quiet", "--disable-pip-version-check", "--target", join(folder, "packages")];
    await run("python3", ["-m", "pip", "install", ...flags, ...wanted]);
    // The rename is atomic. Of two runs that install at once, the second finds it done.
    await rename(join(folder, "packages"), PACKAGES).catch((error: unknown) => {
      if (!existsSync(PACKAGES)) throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Seen {
  readonly missing: { readonly status: string; readonly message: string; readonly reason: string };
  readonly absent: { readonly status: string; readonly reason: string };
  readonly [step: string]: unknown;
}

test("grpcio writes, reads, streams, cancels, and understands deadlines and errors", async () => {
  await installOnce();
  await using server = await startServer();
  const { stdout } = await run("python3", [SCRIPT, new URL(server.url).host], {
    env: { ...process.env, PYTHONPATH: PACKAGES, PYTHONDONTWRITEBYTECODE: "1" },
  });
  const { missing, absent, ...seen } = JSON.parse(stdout) as Seen;
  deepEqual(seen, {
    written: 500,
    page: 100,
    streamed: 500,
    cancelled: "CANCELLED",
    late: "DEADLINE_EXCEEDED",
    unknown: "UNIMPLEMENTED",
    "at once": [100],
  });
  equal(absent.status, "NOT_FOUND");
  equal(absent.reason, "NAMESPACE_NOT_FOUND");
  // A message that is not ASCII arrives as it was sent.
  match(missing.message, /nö-such/);
  await until(async () => (await metricOf(server.url, "braid_requests_in_flight")) === 0);
  equal(await metricOf(server.url, "braid_request_bytes_in_flight"), 0);
});
