/** A real server in a process of its own, as people start it, on a free port and a directory that goes with it. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";

export const BRAID = new URL("../../bin/braid", import.meta.url).pathname;

export interface StartedServer {
  readonly url: string;
  readonly data: string;
  /** Stops it, the hard way if asked to, and starts another on the same port and data. */
  restart(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startServer(): Promise<StartedServer> {
  const folder = await mkdtemp(join(tmpdir(), "braid-e2e-"));
  const data = join(folder, "data");
  let process = spawnServer("127.0.0.1:0", data);
  const url = await untilReady(process);
  return {
    url,
    data,
    async restart(signal) {
      await stop(process, signal);
      process = spawnServer(new URL(url).host, data);
      await untilReady(process);
    },
    async [Symbol.asyncDispose]() {
      await stop(process, "SIGTERM");
      await rm(folder, { recursive: true, force: true });
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
  const env = { ...process.env, BRAID_URL: url };
  const child = spawn(BRAID, args, { env, stdio: ["pipe", "pipe", "pipe"] });
  // A command that ends before it has read everything closes the pipe; its exit code tells the story.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const ended = once(child, "close");
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await ended;
  return { code: child.exitCode, out, err };
}

function spawnServer(listen: string, data: string): ChildProcess {
  return spawn(BRAID, ["serve", "--listen", listen, "--data", data, "--log-level", "warn"], {
    stdio: ["ignore", "pipe", "inherit"],
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

async function stop(server: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, "exit");
  server.kill(signal);
  await ended;
}
