/**
 * How long the reads of each namespace take at this server: percentiles of the last minutes, for
 * the doctor. In fixed memory for each namespace.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../lib/clock.ts";
import { SizeHistogram } from "../model/size-histogram.ts";

/** Reads of the present and of the last window count: of five to ten minutes. */
const WINDOW_MS = 300_000;
/** About 3 KB each. */
const NAMESPACES_MAX = 1_000;

export interface RecentReads {
  readonly reads: number;
  readonly p99Ms: number;
}

interface Windows {
  readonly startedMs: number;
  readonly now: SizeHistogram;
  readonly before: SizeHistogram;
}

export class ReadLatencies {
  readonly #clock: Clock;
  readonly #windows = new LRUCache<string, Windows>({ max: NAMESPACES_MAX });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts one page. */
  note(namespace: string, ms: number): void {
    // In microseconds: the histogram's buckets are whole numbers, a fifth apart.
    this.#current(namespace).now.add(Math.max(1, Math.round(ms * 1_000)));
  }

  /** Undefined if nobody read the namespace here in the last minutes. */
  recent(namespace: string): RecentReads | undefined {
    const { now, before } = this.#current(namespace);
    const both = new SizeHistogram();
    both.merge(before);
    both.merge(now);
    if (both.count === 0) return undefined;
    return { reads: both.count, p99Ms: both.percentile(0.99) / 1_000 };
  }

  #current(namespace: string): Windows {
    const nowMs = this.#clock.monotonicMs();
    const known = this.#windows.get(namespace);
    const age = known === undefined ? Number.POSITIVE_INFINITY : nowMs - known.startedMs;
    if (known !== undefined && age < WINDOW_MS) return known;
    const before = known !== undefined && age < 2 * WINDOW_MS ? known.now : new SizeHistogram();
    const windows = { startedMs: nowMs, now: new SizeHistogram(), before };
    this.#windows.set(namespace, windows);
    return windows;
  }
}
