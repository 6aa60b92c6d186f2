/**
 * Stops everything that was started, once and in reverse order, and ends the process on a signal.
 *
 * The first signal lets work in flight finish; a second one stops at once. That is like a crash:
 * writes acknowledged as durable are safe; queued writes, acknowledged on receipt, are lost.
 */
import type { Log } from "../lib/log.ts";

export class Lifecycle {
  readonly #log: Log;
  readonly #stops: { readonly what: string; readonly stop: () => Promise<unknown> }[] = [];
  #stopping: Promise<void> | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Call this when the part has started. */
  started(what: string, stop: () => Promise<unknown>): void {
    this.#stops.push({ what, stop });
  }

  /** Starts a task that runs until its signal aborts. `stop` waits for it. */
  run(what: string, task: (signal: AbortSignal) => Promise<unknown>): void {
    const ending = new AbortController();
    const running = task(ending.signal).catch((error: unknown) => {
      this.#log.error({ err: error }, `${what} ended because of a bug`);
    });
    this.started(what, () => {
      ending.abort();
      return running;
    });
  }

  /** Stops everything. A part that fails to stop does not prevent the others from stopping. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    for (const { what, stop } of this.#stops.toReversed()) {
      try {
        await stop();
      } catch (error) {
        this.#log.error({ err: error }, `${what} failed to stop`);
      }
    }
  }
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** Resolves with the first signal that asks the process to end; the next one ends it at once. */
export function signalToStop(log: Log): Promise<string> {
  return new Promise((resolve) => {
    let asked = false;
    const hear = (signal: string): void => {
      if (asked) {
        log.warn(`${signal} received again; stopping at once`);
        process.exit(1);
      }
      asked = true;
      resolve(signal);
    };
    for (const signal of SIGNALS) process.on(signal, () => hear(signal));
  });
}

/** A process in an unknown state must not continue: it logs the error and ends, as in a crash. */
export function endOnBugs(log: Log): void {
  const end = (error: unknown): void => {
    log.error({ err: error }, "the process ends because of an unhandled error");
    process.exit(1);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}
