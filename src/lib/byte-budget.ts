/**
 * A process-wide allowance of bytes: whoever is about to hold memory takes from it first.
 *
 * `tryTake` is for work that is refused when there is no room; `take` is for work that may wait.
 * One taker larger than the whole budget gets all of it, alone, rather than waiting for ever.
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

  /** For what is held already, whether there is room or not: others are refused sooner. */
  force(bytes: number): void {
    this.#used += bytes;
  }

  /** How much of it is used, from 0 to 1; above it where bytes were forced. */
  get share(): number {
    return this.#used / this.#capacity;
  }

  /** Waits its turn. Rejects with the signal's reason if that aborts first. */
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
        // The one that left may have been what held the others back.
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
