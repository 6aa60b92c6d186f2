/**
 * Samples of many series at even times, the newest so many of them, in memory that is fixed for
 * each series. Pure: the caller says what time it is.
 *
 * Time is counted in steps since the epoch. A step without a sample, while the process slept for
 * one, is NaN in every series.
 */
import { assert } from "./errors.ts";

export interface SampleRange {
  /** The step of the first value. */
  readonly firstStep: number;
  readonly count: number;
}

/** One series. Only its ring reads and writes it. */
export interface RingColumn {
  /** Seven digits are enough for charts, at half the memory. */
  readonly values: Float32Array;
}

export class SampleRing {
  readonly stepsMax: number;
  readonly #columns = new Set<RingColumn>();
  /** 1 where a sample was taken. */
  readonly #sampled: Uint8Array;
  #first = 0;
  #last = -1;

  constructor(stepsMax: number) {
    assert(stepsMax > 0, "a ring has room for a sample");
    this.stepsMax = stepsMax;
    this.#sampled = new Uint8Array(stepsMax);
  }

  /** The steps that it knows, gaps included. */
  get range(): SampleRange {
    return { firstStep: this.#first, count: this.#last - this.#first + 1 };
  }

  /** `before`: the value of a series that begins now, at the samples taken before. */
  add(before: number): RingColumn {
    const values = new Float32Array(this.stepsMax).fill(Number.NaN);
    for (let at = 0; at < this.stepsMax; at++) if (this.#sampled[at] === 1) values[at] = before;
    const column = { values };
    this.#columns.add(column);
    return column;
  }

  remove(column: RingColumn): void {
    this.#columns.delete(column);
  }

  /**
   * Begins the sample of a step. Steps that were left out stay NaN. If the clock stepped back, the
   * samples from this step on are forgotten: they would lie in the future.
   */
  begin(step: number): void {
    const { stepsMax } = this;
    if (this.range.count === 0 || step < this.#first || step - this.#last > stepsMax) {
      this.#clear(0, stepsMax);
      this.#first = step;
    } else if (step <= this.#last) {
      this.#clear(step, this.#last - step + 1);
    } else {
      this.#clear(this.#last + 1, step - this.#last);
      this.#first = Math.max(this.#first, step - stepsMax + 1);
    }
    this.#last = step;
    this.#sampled[step % stepsMax] = 1;
  }

  /** Sets the value of the step that began last. */
  set(column: RingColumn, value: number): void {
    assert(this.range.count > 0, "a sample has begun");
    column.values[this.#last % this.stepsMax] = value;
  }

  /** The values of a range within `range`. */
  read({ values }: RingColumn, { firstStep, count }: SampleRange): number[] {
    return Array.from({ length: count }, (_, i) =>
      sevenDigits(values[(firstStep + i) % this.stepsMax] as number),
    );
  }

  #clear(step: number, count: number): void {
    for (let i = 0; i < count; i++) {
      const at = (step + i) % this.stepsMax;
      this.#sampled[at] = 0;
      for (const { values } of this.#columns) values[at] = Number.NaN;
    }
  }
}

/** Without the digits that a 32-bit number does not have. */
function sevenDigits(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(7));
}
