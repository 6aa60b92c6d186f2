/**
 * Runs a bounded number of tasks at a time and shares the slots fairly between keys.
 *
 * Tasks of one key run in the order they arrive. Between keys the queue goes round robin: a key
 * with 1,000 tasks delays another key's first task by one task, not by 1,000. The queue refuses a
 * task that would wait too long when it arrives: a late refusal helps nobody. If it has waited too
 * long all the same, it is refused when its turn comes, because its result would come later still.
 */
import type { Clock } from "./clock.ts";

interface Waiting {
  readonly run: () => void;
}

/** The means cover about this many tasks. */
const MEMORY = 64;
/** The time between the ends of two tasks while others wait, until it is measured. */
const GAP_MS_GUESS = 1;

export class FairQueue {
  readonly #clock: Clock;
  readonly #runningMax: number;
  /** Keys in the order in which they get the next slots. */
  readonly #waiting = new Map<string, Waiting[]>();
  #running = 0;
  #queued = 0;
  #meanMs = 0;
  /**
   * The mean time between the ends of two tasks while others wait. It includes the work around the
   * tasks, which the mean duration lacks: a busy thread has less room than its slots suggest.
   */
  #gapMs = GAP_MS_GUESS;
  /** When the last task ended, if others have waited since. */
  #endedMs: number | undefined;

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
    return (ahead + 1) * Math.max(this.#gapMs, this.#meanMs / this.#runningMax);
  }

  /**
   * Runs the task when it gets a slot. Returns undefined, without running it, if it would wait or
   * has waited longer than `waitMsMax`. Rejects with the signal's reason if the signal aborts while
   * the task waits.
   */
  async run<T>(
    key: string,
    waitMsMax: number,
    signal: AbortSignal,
    task: () => Promise<T>,
  ): Promise<{ readonly result: T } | undefined> {
    signal.throwIfAborted();
    if (this.#running >= this.#runningMax && this.expectedWaitMs(key) > waitMsMax) return undefined;
    const arrivedMs = this.#clock.monotonicMs();
    if (this.#running >= this.#runningMax) await this.#waitForSlot(key, signal);
    else this.#running++;
    if (this.#clock.monotonicMs() - arrivedMs > waitMsMax) {
      this.#free();
      return undefined;
    }
    return { result: await this.#runInSlot(task) };
  }

  /** Runs the task as soon as a slot is free for its key, however long that takes. */
  async runWhenFree<T>(key: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#running >= this.#runningMax) await this.#waitForSlot(key, signal);
    else this.#running++;
    return this.#runInSlot(task);
  }

  async #runInSlot<T>(task: () => Promise<T>): Promise<T> {
    const startedMs = this.#clock.monotonicMs();
    try {
      return await task();
    } finally {
      this.#measure(startedMs);
      this.#free();
    }
  }

  #measure(startedMs: number): void {
    const nowMs = this.#clock.monotonicMs();
    this.#meanMs += (nowMs - startedMs - this.#meanMs) / MEMORY;
    if (this.#endedMs !== undefined) {
      this.#gapMs += (nowMs - this.#endedMs - this.#gapMs) / MEMORY;
    }
    this.#endedMs = this.#queued > 0 ? nowMs : undefined;
  }

  #free(): void {
    this.#running--;
    this.#next();
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
