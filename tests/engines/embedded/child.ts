/** The test's end of `store-child.ts`. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("store-child.ts", import.meta.url));

export class StoreChild {
  readonly #process: ChildProcess;
  /** Everything it said. */
  readonly lines: string[] = [];
  #wake: () => void = () => undefined;
  #ended = false;

  constructor(directory: string, env: Readonly<Record<string, string>> = {}) {
    this.#process = spawn(process.execPath, [SCRIPT, directory], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, ...env },
    });
    const { stdout } = this.#process;
    if (stdout === null) throw new Error("the child has no output");
    createInterface({ input: stdout }).on("line", (line) => {
      this.lines.push(line);
      this.#wake();
    });
    this.#process.on("close", () => {
      this.#ended = true;
      this.#wake();
    });
  }

  tell(command: string): void {
    this.#process.stdin?.write(`${command}\n`);
  }

  /** The first line, from `since` on, that answers; fails when the child ends without it. */
  async hear(answers: (line: string) => boolean, since = 0): Promise<string> {
    for (;;) {
      const found = this.lines.slice(since).find(answers);
      if (found !== undefined) return found;
      if (this.#ended) throw new Error(`the child ended, having said ${this.lines.join("; ")}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Tells and waits for the answer to that. */
  ask(command: string, answers: (line: string) => boolean): Promise<string> {
    const since = this.lines.length;
    this.tell(command);
    return this.hear(answers, since);
  }

  /** No chance to say goodbye; resolves when all it said was read. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    if (!this.#ended) await once(this.#process, "close");
  }

  /** However the test ends: a child that lives keeps it from ending. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  async end(): Promise<void> {
    this.#process.stdin?.end();
    if (!this.#ended) await once(this.#process, "close");
  }
}
