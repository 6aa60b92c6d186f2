/**
 * One Java service as a process: started, paused, killed, started again.
 *
 * It ends with the process that started it, however that ends, unless it is to live on its own. A
 * small shell ensures this: it reads from a pipe that only our process holds, so the pipe closes
 * even
 * when we are killed, and then the shell kills the service. Both stand outside our process group,
 * so that Ctrl-C reaches us alone and we can stop things in order.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { beganOf, endProcess, isRunning, send, writeProcessFile } from "./process-file.ts";
import type { StartedProcess } from "./process-file.ts";

export interface Command {
  readonly name: string;
  /** Of the service, and where it answers: for a reader of its process file. */
  readonly version: string;
  readonly address: string;
  /** For its log and its process file. */
  readonly directory: string;
  readonly java: string;
  readonly args: readonly string[];
  readonly lifetime: Lifetime;
  /** Leaves the processor to others while they want it. */
  readonly lowPriority: boolean;
}

/** A process ends with the one that started it, or lives on its own until it is stopped. */
export type Lifetime = "parent" | "own";

/** A service answers within this time, also on a small, busy machine. */
const READY_MS_MAX = 300_000;
const POLL_MS = 200;
const LOG_LINES_SHOWN = 25;

/** Enough to yield to tests that run at the same time, and not so much that it never gets up. */
const LOW_PRIORITY = ["nice", "-n", "5"];

export class JavaProcess {
  readonly #command: Command;
  #started: StartedProcess | undefined;
  #paused = false;

  constructor(command: Command) {
    this.#command = command;
  }

  get name(): string {
    return this.#command.name;
  }

  /** Of the process that runs, or ran last. */
  get pid(): number {
    return this.#started?.pid ?? 0;
  }

  get log(): string {
    return join(this.#command.directory, `${this.name}.log`);
  }

  /** Runs, and is not paused. */
  get awake(): boolean {
    return this.#started !== undefined && isRunning(this.#started) && !this.#paused;
  }

  async start(): Promise<void> {
    if (this.#started !== undefined && isRunning(this.#started)) return;
    const { name, version, address, directory, java, args, lifetime, lowPriority } = this.#command;
    await mkdir(directory, { recursive: true });
    const log = openSync(this.log, "a");
    // nice becomes the program it is given, so the process id is that of the service.
    const [program = java, ...rest] = [...(lowPriority ? LOW_PRIORITY : []), java, ...args];
    const child = spawn(program, rest, { detached: true, stdio: ["ignore", log, log] });
    closeSync(log);
    // Without a process id there was an error, which is reported below.
    child.on("error", () => undefined);
    const began = child.pid === undefined ? undefined : beganOf(child.pid);
    if (child.pid === undefined || began === undefined) throw new Error(`${java} does not start`);
    if (lifetime === "parent") endWithUs(child.pid, child);
    child.unref();
    const since = new Date().toISOString();
    this.#started = { name, pid: child.pid, began, since, version, address, log: this.log };
    this.#paused = false;
    writeProcessFile(join(directory, "process.json"), this.#started);
  }

  /**
   * Asks until the answer is yes. Fails with the end of the log if the process ends before that.
   */
  async untilReady(answers: () => Promise<boolean>, signal?: AbortSignal): Promise<void> {
    const until = performance.now() + READY_MS_MAX;
    while (!(await answers())) {
      signal?.throwIfAborted();
      if (this.#started === undefined || !isRunning(this.#started)) {
        throw new Error(`${this.name} ended before it answered.\n${this.logEnd()}`);
      }
      if (performance.now() > until) {
        const seconds = READY_MS_MAX / 1000;
        throw new Error(`${this.name} does not answer after ${seconds} s.\n${this.logEnd()}`);
      }
      await pause(POLL_MS);
    }
  }

  logEnd(): string {
    const lines = readFileSync(this.log, "utf8").trimEnd().split("\n").slice(-LOG_LINES_SHOWN);
    return `The last lines of ${this.log}:\n  ${lines.join("\n  ")}`;
  }

  /** SIGKILL; resolves when it has ended. */
  async kill(): Promise<void> {
    if (this.#started !== undefined) await endProcess(this.#started, "SIGKILL");
  }

  /** SIGTERM; resolves when it has ended. */
  async stop(): Promise<void> {
    if (this.#started !== undefined) await endProcess(this.#started, "SIGTERM");
  }

  pause(): void {
    if (this.#started !== undefined) send(this.#started, "SIGSTOP");
    this.#paused = true;
  }

  resume(): void {
    if (this.#started !== undefined) send(this.#started, "SIGCONT");
    this.#paused = false;
  }
}

/** Kills the child when this process ends, however that is. */
export function endWithUs(pid: number, child: ReturnType<typeof spawn>): void {
  const script = 'read -r _; kill -9 "$1"';
  const watch = spawn("sh", ["-c", script, "end-with-parent", String(pid)], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  // Once the service has ended, another process may get its id.
  child.once("exit", () => watch.kill("SIGKILL"));
  watch.unref();
  if (watch.stdin instanceof Socket) watch.stdin.unref();
}
