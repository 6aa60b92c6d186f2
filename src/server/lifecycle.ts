/**
 * What was started is stopped, in the reverse order, once; and the process ends when it is told to.
 *
 * The first signal lets what is under way finish; a second one does not wait. That is like a crash: what
 * was acknowledged as written is durable already; queued writes, acknowledged on receipt, are lost.
 */
import type { Log } from "../lib/log.ts";

export class Lifecycle {
  readonly #log: Log;
  readonly #stops: { readonly what: string; readonly stop: () => Promise<unknown> }[] = [];
  #stopping: Promise<void> | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** To be called when the thing has started. */
  started(what: string, stop: () => Promise<unknown>): void {
    this.#stops.push({ what, stop });
  }

  /** Starts a task that runs until its signal aborts. It is waited for. */
  run(what: string, task: (signal: AbortSignal) => Promise<unknown>): void {
    const ending = new AbortController();
    const running = task(ending.signal).catch((error: unknown) => {
      this.#log.error({ err: error }, `${what} ended by a bug`);
    });
    this.started(what, () => {
      ending.abort();
      return running;
    });
  }

  /** Stops everything; a part that fails to stop does not keep the others. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    for (const { what, stop } of this.#stops.toReversed()) {
      try {
        await stop();
      } catch (error) {
        this.#log.error({ err: error }, `${what} did not stop well`);
      }
    }
  }
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** Resolves with the first signal that asks the process to end; the next one ends it. */
export function signalToStop(log: Log): Promise<string> {
  return new Promise((resolve) => {
    let asked = false;
    const hear = (signal: string): void => {
      if (asked) {
        log.warn(`${signal} again: stopping at once`);
        process.exit(1);
      }
      asked = true;
      resolve(signal);
    };
    for (const signal of SIGNALS) process.on(signal, () => hear(signal));
  });
}

/** A process in an unknown state must not go on: it says so and ends, and its data is as after a crash. */
export function endOnBugs(log: Log): void {
  const end = (error: unknown): void => {
    log.error({ err: error }, "ending: an error that nobody handled");
    process.exit(1);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}
