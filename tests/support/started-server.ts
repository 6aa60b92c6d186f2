/**
 * A real server in a process of its own, as people start it, on a free port and a directory that is
 * removed with it.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";

const BRAID = new URL("../../bin/braid", import.meta.url).pathname;

/**
 * The environment without Braid's settings, neither those of the machine nor those of the test run.
 */
const OUTSIDE = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("BRAID_")),
);

export interface ServerOptions {
  /** In addition to those for the address and the data. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A directory that the caller removes; without it, one that is removed with the server. */
  readonly data?: string;
}

export interface StartedServer {
  readonly url: string;
  readonly data: string;
  /** Of the server's process itself: the launcher becomes it. */
  readonly pid: number;
  /** Resolves with its exit code when it has ended; null if the signal ended it. */
  stop(signal: "SIGTERM" | "SIGKILL"): Promise<number | null>;
  /** Starts another on the same port and data. */
  start(): Promise<void>;
  /** Stops it with the signal and starts another on the same port and data. */
  restart(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startServer(options: ServerOptions = {}): Promise<StartedServer> {
  const folder =
    options.data === undefined ? await mkdtemp(join(tmpdir(), "braid-e2e-")) : undefined;
  const data = options.data ?? join(folder ?? "", "data");
  let process = spawnServer("127.0.0.1:0", data, options);
  const url = await untilReady(process);
  const start = async (): Promise<void> => {
    process = spawnServer(new URL(url).host, data, options);
    await untilReady(process);
  };
  return {
    url,
    data,
    get pid() {
      return process.pid ?? 0;
    },
    stop: (signal) => stop(process, signal),
    start,
    async restart(signal) {
      await stop(process, signal);
      await start();
    },
    async [Symbol.asyncDispose]() {
      await stop(process, "SIGTERM");
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs `bin/braid` to its end. */
export async function braid(args: readonly string[], url: string, input = ""): Promise<Ended> {
  const env = { ...OUTSIDE, BRAID_URL: url };
  const child = spawn(BRAID, args, { env, stdio: ["pipe", "pipe", "pipe"] });
  // A command that ends before it has read everything closes the pipe; its exit code is what
  // counts.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const ended = once(child, "close");
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await ended;
  return { code: child.exitCode, out, err };
}

function spawnServer(listen: string, data: string, options: ServerOptions): ChildProcess {
  const { flags = [], env = {} } = options;
  const args = ["serve", "--listen", listen, "--data", data, "--log-level", "warn", ...flags];
  return spawn(BRAID, args, {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...OUTSIDE, ...env },
  });
}

async function untilReady(server: ChildProcess): Promise<string> {
  if (server.stdout === null) throw new Error("the server's stdout is a pipe");
  for await (const line of createInterface(server.stdout)) {
    const url = /^braid: listening on (http:\S+)/.exec(line)?.[1];
    if (url === undefined) continue;
    server.stdout.resume();
    return url;
  }
  throw new Error("the server ended before it was ready");
}

async function stop(server: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<number | null> {
  if (server.exitCode === null && server.signalCode === null) {
    const ended = once(server, "exit");
    server.kill(signal);
    await ended;
  }
  return server.exitCode;
}
