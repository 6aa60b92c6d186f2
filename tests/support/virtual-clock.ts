/**
 * A clock that stands still until a test advances it. Sleeps end when time is advanced past them.
 *
 * Wall clock and monotonic clock advance together, except for `stepWall`, which acts like a wrong
 * or corrected clock.
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
    // Whole microseconds, as the system's clock has: milliseconds may have fractions.
    return Math.floor(this.#wallMicros);
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** How many are asleep: a test waits for them before it advances. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  after(ms: number, run: () => void): () => void {
    const sleeper = {
      // Every sleep takes some time: a shorter one could be lost to rounding.
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

  /** Lets time pass on both clocks and wakes the due sleepers, the earliest first. */
  async advance(ms: number): Promise<void> {
    const target = this.#monotonicMs + ms;
    for (;;) {
      // A woken task may sleep again within the time that passes.
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

/** Lets everything run that does not wait for time. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
