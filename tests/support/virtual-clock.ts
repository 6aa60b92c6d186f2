/**
 * A clock that stands still until told to go on. Sleeps end when time is advanced past them.
 *
 * Wall clock and monotonic clock go together, but for `stepWall`, which is what a wrong or
 * corrected clock does.
 */
import type { Clock } from "../../src/lib/clock.ts";

interface Sleeper {
  readonly wakeAtMs: number;
  readonly wake: () => void;
}

export class VirtualClock implements Clock {
  #wallMicros: number;
  #monotonicMs = 0;
  readonly #sleepers = new Set<Sleeper>();

  constructor(wallMicros: number) {
    this.#wallMicros = wallMicros;
  }

  nowMicros(): number {
    // Whole, as the system's: milliseconds may have fractions.
    return Math.floor(this.#wallMicros);
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** How many are asleep: what a test waits for before it advances. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  after(ms: number, run: () => void): () => void {
    const sleeper = {
      // Some time passes on every clock: less than a number can hold would be none.
      wakeAtMs: this.#monotonicMs + Math.max(ms, 0.001),
      wake: (): void => {
        this.#sleepers.delete(sleeper);
        run();
      },
    };
    this.#sleepers.add(sleeper);
    return () => void this.#sleepers.delete(sleeper);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true || ms <= 0) return resolve();
      const abort = (): void => {
        cancel();
        resolve();
      };
      const cancel = this.after(ms, () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      });
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** Lets time pass on both clocks and wakes whoever is due, the earliest first. */
  async advance(ms: number): Promise<void> {
    const target = this.#monotonicMs + ms;
    for (;;) {
      // Who was woken may go to sleep again within the time that passes.
      await settle();
      const due = this.#nextDue(target);
      if (due === undefined) break;
      this.#goTo(due.wakeAtMs);
      due.wake();
    }
    this.#goTo(target);
    await settle();
  }

  /** Moves the wall clock alone. */
  stepWall(micros: number): void {
    this.#wallMicros += micros;
  }

  #goTo(ms: number): void {
    this.#wallMicros += (ms - this.#monotonicMs) * 1000;
    this.#monotonicMs = ms;
  }

  #nextDue(target: number): Sleeper | undefined {
    let next: Sleeper | undefined;
    for (const sleeper of this.#sleepers) {
      if (sleeper.wakeAtMs > target) continue;
      if (next === undefined || sleeper.wakeAtMs < next.wakeAtMs) next = sleeper;
    }
    return next;
  }
}

/** Lets everything that can go on without time go on. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
