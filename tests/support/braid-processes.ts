/**
 * `bin/braid serve` and `bin/braid worker` as separate processes, as people start them: started,
 * paused and resumed, killed, started again on the same port.
 *
 * The output of a process goes to a file, whose end is shown when the process does not become
 * ready. No process outlives the test, however it ends.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { endWithUs } from "../../scripts/services/java-process.ts";

const BRAID = new URL("../../bin/braid", import.meta.url).pathname;
const READY = /^(?:braid: listening on|\s*health and metrics:) (http:\/\/[^\s/]+)/m;
const POLL_MS = 25;
const LOG_LINES_SHOWN = 25;

/**
 * The environment without Braid's settings, neither those of the machine nor those of the test run.
 */
const OUTSIDE = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("BRAID_")),
);

export interface BraidOptions {
  readonly command: "serve" | "worker";
  /** Its log is `<name>.log` in the directory. */
  readonly name: string;
  readonly directory: string;
  /** In addition to the one for the address. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface BraidProcess {
  /** For a worker: health and metrics only. */
  readonly url: string;
  /** Of the process itself: the launcher becomes it. */
  readonly pid: number;
  readonly log: string;
  /** All its output, over all its restarts. */
  said(): string;
  /** SIGSTOP. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  /** Resolves with its exit code when it has ended; null if the signal ended it. */
  stop(signal: "SIGTERM" | "SIGKILL"): Promise<number | null>;
  /** Starts another on the same port, with the same settings; resolves when it is ready. */
  start(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** On a free port of loopback; resolves when it is ready. */
export async function startBraid(options: BraidOptions): Promise<BraidProcess> {
  const log = join(options.directory, `${options.name}.log`);
  let child = spawnBraid("127.0.0.1:0", log, options);
  const url = await untilReady(child, log, 0);
  return {
    url,
    log,
    get pid() {
      return child.pid ?? 0;
    },
    said: () => readFileSync(log, "utf8"),
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    stop: (signal) => stop(child, signal),
    async start() {
      const saidBefore = statSync(log).size;
      child = spawnBraid(new URL(url).host, log, options);
      await untilReady(child, log, saidBefore);
    },
    async [Symbol.asyncDispose]() {
      await stop(child, "SIGTERM");
    },
  };
}

function spawnBraid(listen: string, log: string, options: BraidOptions): ChildProcess {
  const { command, flags = [], env = {} } = options;
  const file = openSync(log, "a");
  const child = spawn(BRAID, [command, "--listen", listen, ...flags], {
    stdio: ["ignore", file, file],
    env: { ...OUTSIDE, ...env },
  });
  closeSync(file);
  if (child.pid !== undefined) endWithUs(child.pid, child);
  return child;
}

async function untilReady(child: ChildProcess, log: string, from: number): Promise<string> {
  for (;;) {
    const said = readFileSync(log).subarray(from).toString();
    const url = READY.exec(said)?.[1];
    if (url !== undefined) return url;
    if (child.exitCode !== null || child.signalCode !== null) {
      const lines = said.trimEnd().split("\n").slice(-LOG_LINES_SHOWN);
      throw new Error(`it ended before it was ready; its last lines:\n  ${lines.join("\n  ")}`);
    }
    await pause(POLL_MS);
  }
}

async function stop(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, "exit");
    child.kill(signal);
    // A paused process receives no other signal until it is resumed.
    child.kill("SIGCONT");
    await ended;
  }
  return child.exitCode;
}
