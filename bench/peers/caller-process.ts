/** Starts the process of a caller and gives it work, one piece at a time. */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import type { Done, Series, Work } from "./work.ts";

/** Braid through its client and over gRPC, and those that it is compared with. */
export type PeerName = "client" | "gRPC" | "PostgreSQL" | "PostgreSQL COPY" | "SQLite";

export interface CallerOptions {
  readonly peer: PeerName;
  /** Of its server, if it has one. */
  readonly port: number;
  /** For its files, if there is no server. */
  readonly directory: string;
  readonly series: Series;
}

export type ToCaller = Work;
export type FromCaller =
  { readonly ready: true } | { readonly done: Done } | { readonly error: string };

const MAIN = new URL("./caller-main.ts", import.meta.url);

export class CallerProcess {
  readonly peer: PeerName;
  readonly #child: ChildProcess;

  private constructor(peer: PeerName, child: ChildProcess) {
    this.peer = peer;
    this.#child = child;
  }

  static async start(options: CallerOptions): Promise<CallerProcess> {
    const child = fork(MAIN, [JSON.stringify(options)], {
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    const caller = new CallerProcess(options.peer, child);
    await caller.#answer();
    return caller;
  }

  async do(work: Work): Promise<Done> {
    const answer = this.#answer();
    this.#child.send(work);
    const message = await answer;
    if ("done" in message) return message.done;
    throw new Error(`${this.peer}, ${work.kind}: ${"error" in message ? message.error : "ready"}`);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exited = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.disconnect();
    await exited;
  }

  #answer(): Promise<FromCaller> {
    return new Promise((resolve, reject) => {
      const exited = (code: number | null): void =>
        reject(new Error(`the caller of ${this.peer} exited with ${code}`));
      this.#child.once("exit", exited);
      this.#child.once("message", (message: FromCaller) => {
        this.#child.off("exit", exited);
        resolve(message);
      });
    });
  }
}
