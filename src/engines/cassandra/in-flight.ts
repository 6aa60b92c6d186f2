/**
 * At most so many statements at a time; the others wait in line. What waits is bounded by the memory
 * budgets of those who ask.
 */
const CUT_AT = 1_024;

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
    // Those let in are cut off now and then, also while the line never ends.
    if (this.#next === this.#waiting.length || this.#next === CUT_AT) {
      this.#waiting = this.#waiting.slice(this.#next);
      this.#next = 0;
    }
    enter();
  }
}
