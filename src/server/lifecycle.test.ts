import { deepEqual, equal, match } from "node:assert/strict";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { afterEach, test } from "node:test";
import { silentLog } from "../lib/log.ts";
import { Lifecycle } from "./lifecycle.ts";

const LIFECYCLE = new URL("lifecycle.ts", import.meta.url).href;
const LOG = new URL("../lib/log.ts", import.meta.url).href;

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** A process that handles signals and bugs as a server does, and then runs `code`. */
function processWith(code: string) {
  const program = `
    import { endOnBugs, signalToStop } from ${JSON.stringify(LIFECYCLE)};
    import { createLog } from ${JSON.stringify(LOG)};
    const log = createLog("warn");
    endOnBugs(log);
    const stopping = signalToStop(log);
    ${code}`;
  const args = ["--input-type=module", "-e", program];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  const lines = createInterface(child.stdout);
  return { child, ended: once(child, "exit"), log: text(child.stderr), line: once(lines, "line") };
}

for (const [what, code] of [
  ["an error that nobody catches", "setTimeout(() => { throw new Error('a bug'); }, 1);"],
  ["a promise whose failure nobody handles", "void Promise.reject(new Error('a bug'));"],
] as const) {
  test(`U7: ${what} is logged and ends the process with code 1`, async () => {
    // It would run for ever.
    const { ended, log } = processWith(`setInterval(() => undefined, 1_000); ${code}`);
    deepEqual(await ended, [1, null]);
    const line = JSON.parse(await log) as { msg: string; err: { message: string; stack: string } };
    equal(line.msg, "the process ends because of an unhandled error");
    equal(line.err.message, "a bug");
    match(line.err.stack, /Error: a bug/);
  });
}

test("U4: a second signal ends a process at once whose stop takes too long", async () => {
  const { child, ended, log, line } = processWith(`
    setInterval(() => undefined, 1_000);
    setTimeout(() => process.kill(process.pid, "SIGTERM"), 1);
    await stopping;
    console.log("stopping");
    await new Promise(() => undefined);`);
  await line;
  child.kill("SIGTERM");
  deepEqual(await ended, [1, null]);
  match(await log, /SIGTERM received again; stopping at once/);
});

test("what was started last stops first, and what fails to stop does not keep the rest running", async () => {
  const lifecycle = new Lifecycle(silentLog);
  const stopped: string[] = [];
  for (const what of ["first", "second", "third"]) {
    lifecycle.started(what, async () => {
      stopped.push(what);
      if (what === "second") throw new Error("it does not stop");
    });
  }
  await Promise.all([lifecycle.stop(), lifecycle.stop()]);
  deepEqual(stopped, ["third", "second", "first"]);
});
