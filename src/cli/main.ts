/**
 * The program: connects a command with this process, its streams, its signals and its exit code.
 */
import { enableCompileCache } from "node:module";
import { hostname, userInfo } from "node:os";
import process from "node:process";
import { systemClock } from "../lib/clock.ts";
import type { Terminal } from "./terminal.ts";

// Halves the time to the first output. It affects only later imports, so the rest is imported after
// it.
enableCompileCache();
const { Interrupted, run } = await import("./run.ts");

let interrupt: AbortController | undefined;
let watchingOutput = false;

const terminal: Terminal = {
  async print(text) {
    if (!watchingOutput) {
      watchingOutput = true;
      process.stdout.on("error", leaveIfNobodyReads);
    }
    if (process.stdout.write(text)) return;
    await new Promise<void>((resolve) => process.stdout.once("drain", resolve));
  },
  note: (text) => void process.stderr.write(text),
  outIsTty: process.stdout.isTTY === true,
  noteIsTty: process.stderr.isTTY === true,
  get columns() {
    return process.stdout.isTTY === true ? process.stdout.columns : undefined;
  },
  get input() {
    return process.stdin;
  },
  ask: process.stdin.isTTY === true && process.stderr.isTTY === true ? ask : undefined,
  env: process.env,
  get user() {
    return `${userName()}@${hostname()}`;
  },
  get interrupted() {
    if (interrupt === undefined) {
      const controller = new AbortController();
      // Once: a second Ctrl-C ends the process at once.
      process.once("SIGINT", () => controller.abort(new Interrupted()));
      interrupt = controller;
    }
    return interrupt.signal;
  },
  clock: systemClock,
};

process.exitCode = await run(process.argv.slice(2), terminal);

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user may have no name.
    return String(process.getuid?.() ?? "unknown");
  }
}

/** `braid read … | head` has closed the pipe, which is not a failure. */
function leaveIfNobodyReads(error: Error & { code?: string }): void {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
}

async function ask(question: string): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question, { signal: terminal.interrupted });
  } finally {
    lines.close();
  }
}
