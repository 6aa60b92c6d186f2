/** A real server, or a worker, in its own process, on a free port; stopped at the end. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endWithUs } from "../../scripts/services/java-process.ts";
import { memoryOf } from "./process-figures.ts";

const LAUNCHER = new URL("../../bin/braid", import.meta.url).pathname;
const MEMORY_EVERY_MS = 250;

export interface ServerProcess {
  readonly port: number;
  /** The most memory the process has had so far. */
  peakMemoryMiB(): Promise<{ resident: number; anonymous: number }>;
  readonly pid: number | undefined;
  post(method: string, body: unknown): Promise<unknown>;
  /** Kills it without warning and starts another on the same data. */
  killAndRestart(): Promise<ServerProcess>;
  stop(): Promise<void>;
}

/** Where warnings go: an open file, or where ours do. */
export type LogTo = number | "inherit";

/** On an empty directory. `env` is set on top of the present one. */
export async function startServer(
  env: NodeJS.ProcessEnv = {},
  log: LogTo = "inherit",
): Promise<ServerProcess> {
  return startOn("serve", await mkdtemp(join(tmpdir(), "braid-bench-")), env, log);
}

/** A `braid worker`; its port has health and metrics only. */
export async function startWorker(
  env: NodeJS.ProcessEnv,
  log: LogTo = "inherit",
): Promise<ServerProcess> {
  return startOn("worker", await mkdtemp(join(tmpdir(), "braid-bench-")), env, log);
}

async function startOn(
  command: "serve" | "worker",
  data: string,
  env: NodeJS.ProcessEnv,
  log: LogTo,
): Promise<ServerProcess> {
  const child = spawn(
    LAUNCHER,
    [command, "--listen", "127.0.0.1:0", "--data", data, "--log-level", "warn"],
    {
      stdio: ["ignore", "pipe", log],
      env: { ...process.env, ...env },
      // Ctrl-C is for us alone: what we started is stopped in order.
      detached: true,
    },
  );
  if (child.pid !== undefined) endWithUs(child.pid, child);
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const port = await new Promise<number>((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const match = /http:\/\/127\.0\.0\.1:(\d+)/.exec(text);
      if (match !== null) resolve(Number(match[1]));
    });
    void exited.then((code) => reject(new Error(`the ${command} process exited with ${code}`)));
  });
  let anonymous = 0;
  const sampler = setInterval(() => {
    void memoryOf(child.pid).then(({ RssAnon = 0 }) => {
      anonymous = Math.max(anonymous, RssAnon);
    });
  }, MEMORY_EVERY_MS);
  sampler.unref();
  return {
    port,
    pid: child.pid,
    peakMemoryMiB: async () => {
      const { VmHWM = 0 } = await memoryOf(child.pid);
      return { resident: VmHWM, anonymous };
    },
    post: async (method, body) => {
      const response = await fetch(`http://127.0.0.1:${port}/braid.v1.${method}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const answer: unknown = await response.json();
      if (!response.ok) throw new Error(`${method}: ${JSON.stringify(answer)}`);
      return answer;
    },
    killAndRestart: async () => {
      clearInterval(sampler);
      child.kill("SIGKILL");
      await exited;
      return startOn(command, data, env, log);
    },
    stop: async () => {
      clearInterval(sampler);
      child.kill("SIGTERM");
      await exited;
      await rm(data, { recursive: true, force: true });
    },
  };
}
