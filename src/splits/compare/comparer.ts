/**
 * Compares what a read took from one side with the other side, in the background.
 *
 * It never changes or delays an answer: it notes what was read, and reads the other side later.
 * Work and memory are bounded: a few comparisons run at once, each run by run, and a bounded number
 * wait. It skips and counts comparisons that do not fit.
 */
import { partitionText } from "../../model/partition.ts";
import { IntegrityError } from "../../parts/part-reader.ts";
import type { ComparisonReaders } from "./comparison-readers.ts";
import type { ComparisonResult, ServeObserver } from "../serve/observer.ts";
import type { Comparison } from "../serve/comparison.ts";
import type { TrustStates } from "./trust-states.ts";
import { sameSum, RangeSum, sumUpTo } from "../../parts/range-sum.ts";

export interface ComparerOptions {
  readonly readers: ComparisonReaders;
  readonly trustStates: TrustStates;
  readonly observe: ServeObserver;
  readonly matched: (comparison: Comparison) => void;
  /** Starts a recheck (rule C14), during which the split is not served. */
  readonly differed: (comparison: Comparison) => void;
  readonly atOnce?: number;
  readonly waitingMax?: number;
}

const AT_ONCE = 2;
const WAITING_MAX = 64;

export class Comparer {
  readonly #options: ComparerOptions;
  readonly #atOnce: number;
  readonly #waitingMax: number;
  readonly #waiting: Comparison[] = [];
  readonly #running = new Set<Promise<void>>();
  #workers = 0;
  readonly #leaving = new AbortController();

  constructor(options: ComparerOptions) {
    this.#options = options;
    this.#atOnce = options.atOnce ?? AT_ONCE;
    this.#waitingMax = options.waitingMax ?? WAITING_MAX;
  }

  /** Returns at once. */
  submit(comparison: Comparison): void {
    if (this.#leaving.signal.aborted) return;
    if (this.#waiting.length >= this.#waitingMax) {
      this.#tell(comparison, "SKIPPED");
      return;
    }
    this.#waiting.push(comparison);
    if (this.#workers >= this.#atOnce) return;
    this.#workers++;
    const working: Promise<void> = this.#work().finally(() => this.#running.delete(working));
    this.#running.add(working);
  }

  /** Drops waiting comparisons, aborts running ones, and resolves when they have ended. */
  async close(): Promise<void> {
    this.#leaving.abort(new Error("no longer wanted"));
    this.#waiting.length = 0;
    await Promise.all(this.#running);
  }

  async #work(): Promise<void> {
    for (;;) {
      const comparison = this.#waiting.shift();
      if (comparison === undefined) break;
      const result = await this.#compare(comparison);
      if (this.#leaving.signal.aborted) break;
      this.#tell(comparison, result);
      this.#conclude(comparison, result);
    }
    this.#workers--;
  }

  async #compare({ partition, read }: Comparison): Promise<ComparisonResult> {
    const { readers, observe } = this.#options;
    const { segment, range, routeRange } = read;
    const { signal } = this.#leaving;
    const sum = new RangeSum(routeRange.compare);
    try {
      const other =
        routeRange.readFrom === "SPLIT"
          ? readers.original(partition, range, range.level, signal)
          : await readers.split(partition, segment, range, range.level, signal);
      try {
        await sumUpTo(sum, other, read.last, range.order);
      } finally {
        await other.close();
      }
    } catch (error) {
      if (error instanceof IntegrityError && error.reason !== "storage") return "INTEGRITY_ERROR";
      if (!signal.aborted) observe.trouble("a comparison could not be made", error);
      return "FAILED";
    }
    return sameSum(sum.taken(), read.sum) ? "MATCH" : "DIFFER";
  }

  #conclude(comparison: Comparison, result: ComparisonResult): void {
    const { trustStates, matched, differed } = this.#options;
    const { partition, read } = comparison;
    if (result === "MATCH") {
      // A comparison of no events proves nothing.
      const proves = read.routeRange.compare === "DIGEST" && read.sum.events > 0;
      if (proves) trustStates.prove(partitionText(partition), read.segment);
      matched(comparison);
    } else if (result === "DIFFER" || result === "INTEGRITY_ERROR") {
      differed(comparison);
    }
  }

  #tell({ namespace, read }: Comparison, result: ComparisonResult): void {
    const { layout, strategy } = read.segment;
    this.#options.observe.compared(namespace, { layout, strategy }, result, read.sum.bytes);
  }
}
