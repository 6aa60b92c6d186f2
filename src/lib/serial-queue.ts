/**
 * Work that must be done in order: one item after another, each until it succeeds.
 *
 * An item leaves the queue only when its work has resolved. A failed item is tried again with a
 * bounded back-off, and the items behind it wait. The owner bounds the queue's length.
 */
import { backOffMs } from "./back-off.ts";
import type { BackOff } from "./back-off.ts";
import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

export interface SerialWork<T> {
  /** Called again with the same item if it rejects. */
  work(item: T, signal: AbortSignal): Promise<void>;
  /** The item has left the queue. */
  done(item: T): void;
  failed(failures: number, error: unknown): void;
}

export interface SerialQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly backOff: BackOff;
}

export class SerialQueue<T extends object> {
  readonly #items: T[] = [];
  #failures = 0;
  #wake: () => void = () => undefined;

  get length(): number {
    return this.#items.length;
  }

  /** The item under way, or next. */
  get first(): T | undefined {
    return this.#items[0];
  }

  /** How often the first item has failed in a row. */
  get failures(): number {
    return this.#failures;
  }

  push(item: T): void {
    this.#items.push(item);
    this.#wake();
  }

  /**
   * Runs until the signal aborts, then resolves when the work under way has ended. At most one run
   * at a time.
   */
  async run(
    worker: SerialWork<T>,
    options: SerialQueueOptions,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted) {
      const item = this.#items[0];
      if (item === undefined) await this.#pushed(signal);
      else await this.#attempt(item, worker, options, signal);
    }
  }

  async #attempt(
    item: T,
    worker: SerialWork<T>,
    { clock, random, backOff }: SerialQueueOptions,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await worker.work(item, signal);
    } catch (error) {
      // A stop is not a failure.
      if (signal.aborted) return;
      this.#failures++;
      worker.failed(this.#failures, error);
      await clock.sleep(backOffMs(this.#failures, backOff, random), signal);
      return;
    }
    this.#failures = 0;
    this.#items.shift();
    worker.done(item);
  }

  #pushed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wake = () => undefined;
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#wake = wake;
      signal.addEventListener("abort", wake, { once: true });
    });
  }
}
