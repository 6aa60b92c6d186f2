/**
 * `npm start` as people and supervisors use it: it serves, and a SIGTERM to npm itself stops the
 * server cleanly.
 */
import { equal, match, rejects } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";

test("npm start accepts flags, and SIGTERM to npm drains the server, exits 0 and leaves no process behind", async () => {
  const folder = mkdtempSync(join(tmpdir(), "braid-start-"));
  const data = join(folder, "data");
  const npm = spawn("npm", ["start", "--", "--listen", "127.0.0.1:0", "--data", data], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    let ready = "";
    for await (const line of createInterface(npm.stdout)) {
      if (!line.startsWith("braid: listening on ")) continue;
      ready = line;
      break;
    }
    npm.stdout.resume();
    match(
      ready,
      /^braid: listening on http:\/\/127\.0\.0\.1:\d+ \(engine embedded, data .*data\)$/,
    );
    const url = /http:\S+/.exec(ready)?.[0] ?? "";
    equal((await fetch(`${url}/healthz`)).status, 200);

    npm.kill("SIGTERM");
    const [code] = await once(npm, "exit");
    equal(code, 0);
    await rejects(fetch(`${url}/healthz`), "the port is closed");
  } finally {
    // Not SIGKILL: npm cannot pass it on, and the server would keep running.
    if (npm.exitCode === null && npm.kill("SIGTERM")) await once(npm, "exit");
    rmSync(folder, { recursive: true, force: true });
  }
});
