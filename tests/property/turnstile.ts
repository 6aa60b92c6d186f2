/** Lets the calls and answers of workers through one by one, in an order that a number decides. */
export class Turnstile {
  readonly #waiting: (() => void)[] = [];
  #randomness: number;
  #open = false;

  constructor(randomness: number) {
    this.#randomness = randomness;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  readonly gate = (): void | Promise<void> => {
    if (this.#open) return;
    return new Promise((resolve) => this.#waiting.push(resolve));
  };

  letThrough(): void {
    const [chosen] = this.#waiting.splice(this.randomness(this.#waiting.length), 1);
    chosen?.();
  }

  /** From now on no call waits. */
  open(): void {
    this.#open = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** From now on every call waits again. */
  shut(): void {
    this.#open = false;
  }

  /** Below a limit; the same each time for the same number. */
  randomness(limit: number): number {
    this.#randomness = (Math.imul(this.#randomness, 1_103_515_245) + 12_345) >>> 0;
    return (this.#randomness >>> 8) % Math.max(1, limit);
  }
}
