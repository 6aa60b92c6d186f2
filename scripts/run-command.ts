/** Runs one command to its end and keeps its output. */
import { spawn } from "node:child_process";

export interface CommandResult {
  readonly ok: boolean;
  /** Standard output and error, as they came. */
  readonly output: string;
  readonly seconds: number;
}

export function runCommand(command: string, args: readonly string[]): Promise<CommandResult> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    let output = "";
    const end = (ok: boolean): void => {
      resolve({ ok, output, seconds: (performance.now() - startedAt) / 1000 });
    };
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1" },
    });
    const take = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.on("error", (error) => {
      output += `${command}: ${error.message}\n`;
      end(false);
    });
    child.on("close", (code) => {
      end(code === 0);
    });
  });
}
