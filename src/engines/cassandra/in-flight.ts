/**
 * At most so many statements at a time; the others wait in line. What waits is bounded by the memory
 * budgets of those who ask.
 */
export class InFlight {
  readonly #max: number;
  #running = 0;
  #waiting: (() => void)[] = [];
  /** Those before it have been let in. */
  #next = 0;

  constructor(max: number) {
    this.#max = max;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#max) {
      await new Promise<void>((enter) => {
        this.#waiting.push(enter);
      });
    } else this.#running++;
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** Hands the place on. */
  #leave(): void {
    const enter = this.#waiting[this.#next];
    if (enter === undefined) {
      this.#running--;
      return;
    }
    this.#next++;
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
    }
    enter();
  }
}
