/**
 * A process-wide allowance of bytes: code takes from it before it holds memory.
 *
 * `tryTake` is for work that is refused when there is no room; `take` is for work that may wait. A
 * request larger than the whole budget gets all of it, alone, instead of waiting for ever.
 */
export class ByteBudget {
  readonly #capacity: number;
  #used = 0;
  readonly #waiting: { bytes: number; grant: () => void }[] = [];

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get used(): number {
    return this.#used;
  }

  tryTake(bytes: number): boolean {
    if (this.#waiting.length > 0 || !this.#fits(bytes)) return false;
    this.#used += bytes;
    return true;
  }

  /**
   * For memory that is held already, whether there is room or not: later requests are refused
   * sooner.
   */
  force(bytes: number): void {
    this.#used += bytes;
  }

  /** The used fraction, from 0 to 1; above 1 after `force`. */
  get share(): number {
    return this.#used / this.#capacity;
  }

  /** Waits in order. Rejects with the signal's reason if the signal aborts first. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.tryTake(bytes)) return;
    await new Promise<void>((resolve, reject) => {
      const entry = {
        bytes,
        grant: (): void => {
          signal.removeEventListener("abort", abort);
          this.#used += bytes;
          resolve();
        },
      };
      const abort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(entry), 1);
        // The waiter that left may have been the one that blocked the others.
        this.#grantWaiting();
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", abort, { once: true });
      this.#waiting.push(entry);
    });
  }

  give(bytes: number): void {
    this.#used -= bytes;
    this.#grantWaiting();
  }

  #fits(bytes: number): boolean {
    return this.#used === 0 || this.#used + bytes <= this.#capacity;
  }

  #grantWaiting(): void {
    for (;;) {
      const next = this.#waiting[0];
      if (next === undefined || !this.#fits(next.bytes)) return;
      this.#waiting.shift();
      next.grant();
    }
  }
}
