/** A real server in its own process, on a free port and an empty directory, gone when done. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const LAUNCHER = new URL("../../bin/braid", import.meta.url).pathname;

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

/** `env` is set on top of the present one. */
export async function startServer(env: NodeJS.ProcessEnv = {}): Promise<ServerProcess> {
  return startOn(await mkdtemp(join(tmpdir(), "braid-bench-")), env);
}

async function startOn(data: string, env: NodeJS.ProcessEnv): Promise<ServerProcess> {
  const child = spawn(
    LAUNCHER,
    ["serve", "--listen", "127.0.0.1:0", "--data", data, "--log-level", "warn"],
    {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...env },
    },
  );
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const port = await new Promise<number>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const match = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(text);
      if (match !== null) resolve(Number(match[1]));
    });
    void exited.then((code) => reject(new Error(`the server exited with ${code}`)));
  });
  const anonymous: number[] = [0];
  const sampler = setInterval(() => {
    void memoryOf(child.pid).then(({ RssAnon = 0 }) => anonymous.push(RssAnon));
  }, 250);
  return {
    port,
    pid: child.pid,
    peakMemoryMiB: async () => {
      const { VmHWM = 0 } = await memoryOf(child.pid);
      return { resident: VmHWM, anonymous: Math.max(...anonymous) };
    },
    post: async (method, body) => {
      const response = await fetch(`http://127.0.0.1:${port}/braid.v1.${method}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const answer = await response.json();
      if (!response.ok) throw new Error(JSON.stringify(answer));
      return answer;
    },
    killAndRestart: async () => {
      clearInterval(sampler);
      child.kill("SIGKILL");
      await exited;
      return startOn(data, env);
    },
    stop: async () => {
      clearInterval(sampler);
      child.kill("SIGTERM");
      await exited;
      await rm(data, { recursive: true, force: true });
    },
  };
}

/** From /proc, in MiB; empty where there is none. */
async function memoryOf(pid: number | undefined): Promise<Record<string, number>> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const lines = status.matchAll(/^(\w+):\s+(\d+) kB$/gm);
  const entries = [...lines].map(([, name = "", kib]): [string, number] => [
    name,
    Number(kib) / 1024,
  ]);
  return Object.fromEntries(entries);
}
