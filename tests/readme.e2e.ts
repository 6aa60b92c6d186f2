/**
 * Runs the examples of the README, unchanged, against a new server.
 *
 * @needs curl
 */
import { equal, match } from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";

const ADDRESS = "http://127.0.0.1:8420";
const readme = readFileSync("README.md", "utf8");
const section = readme.split("\n## ").find((each) => each.startsWith("First write and read")) ?? "";
const folder = mkdtempSync(join(tmpdir(), "braid-readme-"));
let server: ChildProcess;
let url = "";

before(async () => {
  const options = ["--listen", "127.0.0.1:0", "--data", join(folder, "data")];
  const child = spawn(resolve("bin/braid"), ["serve", ...options], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  server = child;
  for await (const line of createInterface(child.stdout)) {
    url = /listening on (http:\S+)/.exec(line)?.[1] ?? "";
    if (url !== "") break;
  }
  child.stdout.resume();
});

after(async () => {
  if (server.exitCode === null) {
    server.kill("SIGTERM");
    await once(server, "exit");
  }
  rmSync(folder, { recursive: true, force: true });
});

/** The nth example in a language, with the address of this test's server. */
function example(language: string, nth: number): string {
  const fence = "```";
  const blocks = section.split(`${fence}${language}\n`).slice(1);
  return (blocks[nth] ?? "").split(fence)[0]?.replaceAll(ADDRESS, url) ?? "";
}

function shell(script: string): string {
  const env = { ...process.env, BRAID_URL: url };
  return execFileSync("sh", ["-e", "-c", script], { encoding: "utf8", env });
}

test("the examples with curl write an event and read it", () => {
  const said = shell(example("sh", 0));
  match(said, /"written":\s*1\b/);
  match(said, /"eventId":\s*"e-1"/);
  match(said, /"eventItemValue":\s*"aW9z"/);
});

test("the examples with the command line write an event, read it and explain the read", () => {
  const said = shell(example("sh", 1));
  match(said, /e-2/);
});

test("the example in TypeScript writes an event and reads it", () => {
  const program = example("ts", 0).replace('"braid-client"', `"${resolve("client/connect.ts")}"`);
  const file = join(folder, "example.mts");
  writeFileSync(file, program);
  match(execFileSync(process.execPath, [file], { encoding: "utf8" }), / e-3 ios$/m);
});

test("the server drains and exits 0 on SIGTERM", async () => {
  server.kill("SIGTERM");
  const [code] = await once(server, "exit");
  equal(code, 0);
});
