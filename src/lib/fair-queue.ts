/**
 * Runs a bounded number of tasks at a time and shares the slots fairly between keys.
 *
 * Tasks of one key run in the order they arrive. Between keys the queue goes round robin: a key
 * with 1,000 tasks delays another key's first task by one task, not by 1,000. The queue refuses a
 * task that would wait too long when it arrives, not when its time is over: a late refusal helps
 * nobody.
 */
import type { Clock } from "./clock.ts";

interface Waiting {
  readonly run: () => void;
}

/** The mean duration covers about this many tasks. */
const MEMORY = 64;

export class FairQueue {
  readonly #clock: Clock;
  readonly #runningMax: number;
  /** Keys in the order in which they get the next slots. */
  readonly #waiting = new Map<string, Waiting[]>();
  #running = 0;
  #queued = 0;
  #meanMs = 0;

  constructor(clock: Clock, runningMax: number) {
    this.#clock = clock;
    this.#runningMax = runningMax;
  }

  get running(): number {
    return this.#running;
  }

  get queued(): number {
    return this.#queued;
  }

  /** The estimated wait of a task of that key if it arrived now. */
  expectedWaitMs(key: string): number {
    if (this.#running < this.#runningMax) return 0;
    const own = this.#waiting.get(key)?.length ?? 0;
    const keys = this.#waiting.size + (own === 0 ? 1 : 0);
    const ahead = Math.min(this.#queued, (own + 1) * keys);
    return ((ahead + 1) * this.#meanMs) / this.#runningMax;
  }

  /**
   * Runs the task when it gets a slot. Returns undefined, without running it, if it would wait
   * longer than `waitMsMax`. Rejects with the signal's reason if the signal aborts while the task
   * waits.
   */
  async run<T>(
    key: string,
    waitMsMax: number,
    signal: AbortSignal,
    task: () => Promise<T>,
  ): Promise<{ readonly result: T } | undefined> {
    signal.throwIfAborted();
    if (this.#running >= this.#runningMax && this.expectedWaitMs(key) > waitMsMax) return undefined;
    return { result: await this.runWhenFree(key, task, signal) };
  }

  /** Runs the task as soon as a slot is free for its key, however long that takes. */
  async runWhenFree<T>(key: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#running >= this.#runningMax) await this.#waitForSlot(key, signal);
    else this.#running++;
    const startedMs = this.#clock.monotonicMs();
    try {
      return await task();
    } finally {
      this.#meanMs += (this.#clock.monotonicMs() - startedMs - this.#meanMs) / MEMORY;
      this.#running--;
      this.#next();
    }
  }

  #waitForSlot(key: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        run: () => {
          signal?.removeEventListener("abort", leave);
          resolve();
        },
      };
      const leave = (): void => {
        this.#remove(key, waiting);
        reject(signal?.reason as Error);
      };
      const line = this.#waiting.get(key);
      if (line === undefined) this.#waiting.set(key, [waiting]);
      else line.push(waiting);
      this.#queued++;
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined || this.#running >= this.#runningMax) return;
    const [key, line] = first;
    const next = line.shift();
    // The key moves to the end of the round, or leaves it.
    this.#waiting.delete(key);
    if (line.length > 0) this.#waiting.set(key, line);
    if (next === undefined) return;
    this.#queued--;
    this.#running++;
    next.run();
  }

  #remove(key: string, waiting: Waiting): void {
    const line = this.#waiting.get(key);
    const at = line?.indexOf(waiting) ?? -1;
    if (line === undefined || at < 0) return;
    line.splice(at, 1);
    this.#queued--;
    if (line.length === 0) this.#waiting.delete(key);
  }
}
