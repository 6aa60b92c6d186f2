/**
 * Lets a bounded number of tasks run at a time and shares the places fairly between keys.
 *
 * Tasks of one key run in the order they came. Between keys the places go round, so one key with a thousand
 * tasks delays another key's first task by one task, not by a thousand. A task that would wait for longer than
 * it may is refused when it comes, not when its time is over: refusing late helps nobody.
 */
import type { Clock } from "./clock.ts";

interface Waiting {
  readonly run: () => void;
}

/** Of how many tasks the mean time remembers, about. */
const MEMORY = 64;

export class FairQueue {
  readonly #clock: Clock;
  readonly #runningMax: number;
  /** In the order in which the keys are served next. */
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

  /** How long a task of that key would wait if it came now, as far as can be told. */
  expectedWaitMs(key: string): number {
    if (this.#running < this.#runningMax) return 0;
    const own = this.#waiting.get(key)?.length ?? 0;
    const keys = this.#waiting.size + (own === 0 ? 1 : 0);
    const ahead = Math.min(this.#queued, (own + 1) * keys);
    return ((ahead + 1) * this.#meanMs) / this.#runningMax;
  }

  /**
   * Runs the task when it is its turn. Undefined, and not run, if it would wait for longer than `waitMsMax`.
   * Rejects with the signal's reason if that aborts while it waits.
   */
  async run<T>(
    key: string,
    waitMsMax: number,
    signal: AbortSignal,
    task: () => Promise<T>,
  ): Promise<{ readonly result: T } | undefined> {
    signal.throwIfAborted();
    if (this.#running >= this.#runningMax) {
      if (this.expectedWaitMs(key) > waitMsMax) return undefined;
      await this.#turn(key, signal);
    } else this.#running++;
    const startedMs = this.#clock.monotonicMs();
    try {
      return { result: await task() };
    } finally {
      this.#meanMs += (this.#clock.monotonicMs() - startedMs - this.#meanMs) / MEMORY;
      this.#running--;
      this.#next();
    }
  }

  #turn(key: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        run: () => {
          signal.removeEventListener("abort", leave);
          resolve();
        },
      };
      const leave = (): void => {
        this.#remove(key, waiting);
        reject(signal.reason as Error);
      };
      const line = this.#waiting.get(key);
      if (line === undefined) this.#waiting.set(key, [waiting]);
      else line.push(waiting);
      this.#queued++;
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined || this.#running >= this.#runningMax) return;
    const [key, line] = first;
    const next = line.shift();
    // The key goes to the end of the round, or leaves it.
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
