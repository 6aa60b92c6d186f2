/**
 * Runs a tool to its end and returns its output. A tool that fails is an error with the end of its
 * output.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

export interface ToolOptions {
  /** Beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

const OUTPUT_CHARS_MAX = 4_000;

export async function runTool(
  what: string,
  [program = "", ...args]: readonly string[],
  { env = {}, signal }: ToolOptions = {},
): Promise<string> {
  signal?.throwIfAborted();
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  const end = (): boolean => child.kill();
  signal?.addEventListener("abort", end, { once: true });
  try {
    // Rejects when there is no such program.
    const [out, err] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close"),
    ]);
    signal?.throwIfAborted();
    if (child.exitCode === 0) return out;
    throw new Error(`${what} failed:\n${(out + err).slice(-OUTPUT_CHARS_MAX)}`);
  } finally {
    signal?.removeEventListener("abort", end);
  }
}
