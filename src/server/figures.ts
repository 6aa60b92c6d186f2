/**
 * Figures of a process between two samples: rates, times and levels. Each collects for the second
 * and for the minute at once, so that a minute is made of everything that happened in it and not
 * of sixty figures. Pure.
 */
import { SizeHistogram } from "../model/size-histogram.ts";

export interface Figure {
  /** The parts of its name, one for each value of a sample; "" if it has only one. */
  readonly parts: readonly string[];
  readonly unit: string;
  /** What it was at samples before it existed. */
  readonly before: number;
  /** The values since the last call, over this many seconds. Adds them to the minute. */
  second(seconds: number): readonly number[];
  /** The values since the last `startMinute`, over this many seconds. */
  minute(seconds: number): readonly number[];
  startMinute(): void;
}

/** How many a second. */
export class Rate implements Figure {
  readonly parts = [""];
  readonly unit: string;
  readonly before: number;
  #second = 0;
  #minute = 0;

  constructor(unit: string, before: number) {
    this.unit = unit;
    this.before = before;
  }

  add(amount: number): void {
    this.#second += amount;
  }

  second(seconds: number): readonly number[] {
    const amount = this.#second;
    this.#minute += amount;
    this.#second = 0;
    return [amount / seconds];
  }

  minute(seconds: number): readonly number[] {
    return [this.#minute / seconds];
  }

  startMinute(): void {
    this.#minute = 0;
  }
}

/** Percentiles and the longest of some times, in seconds; NaN where there are none. */
export class Times implements Figure {
  readonly parts = ["p50", "p95", "p99", "max"];
  readonly unit = "s";
  readonly before = Number.NaN;
  /** In microseconds: its buckets are whole numbers, a fifth apart. */
  #second = new SizeHistogram();
  #minute = new SizeHistogram();

  add(seconds: number): void {
    this.#second.add(Math.max(1, Math.round(seconds * 1_000_000)));
  }

  second(): readonly number[] {
    if (this.#second.count === 0) return NO_TIMES;
    const values = summaryOf(this.#second);
    this.#minute.merge(this.#second);
    this.#second = new SizeHistogram();
    return values;
  }

  minute(): readonly number[] {
    return this.#minute.count === 0 ? NO_TIMES : summaryOf(this.#minute);
  }

  startMinute(): void {
    if (this.#minute.count > 0) this.#minute = new SizeHistogram();
  }
}

const NO_TIMES: readonly number[] = Array.from({ length: 4 }, () => Number.NaN);

function summaryOf(times: SizeHistogram): readonly number[] {
  const micros = [
    times.percentile(0.5),
    times.percentile(0.95),
    times.percentile(0.99),
    times.maxBytes,
  ];
  return micros.map((each) => each / 1_000_000);
}

/** What something is at the sample; NaN while it is not known. */
export class Level implements Figure {
  readonly parts = [""];
  readonly unit: string;
  readonly before = Number.NaN;
  readonly #read: () => number;
  readonly #fold: "mean" | "max";
  #sum = 0;
  #count = 0;
  #max = Number.NaN;

  /** `fold`: what a minute shows of its seconds. */
  constructor(unit: string, fold: "mean" | "max", read: () => number) {
    this.unit = unit;
    this.#fold = fold;
    this.#read = read;
  }

  second(): readonly number[] {
    const value = this.#read();
    if (!Number.isNaN(value)) {
      this.#sum += value;
      this.#max = this.#count === 0 ? value : Math.max(this.#max, value);
      this.#count++;
    }
    return [value];
  }

  minute(): readonly number[] {
    if (this.#count === 0) return [Number.NaN];
    return [this.#fold === "max" ? this.#max : this.#sum / this.#count];
  }

  startMinute(): void {
    this.#sum = 0;
    this.#count = 0;
  }
}
