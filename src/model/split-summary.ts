/**
 * The splits of a namespace, or of all, as numbers: how many in each state, how large the
 * partitions were before and how large their parts are, and what the copies cost. Pure.
 */
import { SizeHistogram } from "./size-histogram.ts";
import type { Distribution } from "./size-histogram.ts";
import { SPLIT_STATES } from "./split.ts";
import type { Segment, SplitRecord, SplitState } from "./split.ts";

export interface SplitSummary {
  /** Every state is present. */
  readonly states: ReadonlyMap<SplitState, number>;
  /** Of each partition with a completed segment: as far as it is split. */
  readonly before: Distribution;
  /** Of each part of a completed segment. */
  readonly after: Distribution;
  /** Parts in `after` whose size is the mean of their segment: older copies keep no sizes. */
  readonly partsEstimated: number;
  /** Of events in confirmed segments: reads may take them from the split. */
  readonly divertedBytes: number;
  /** Of the split tables, which come on top of the originals. */
  readonly storageBytes: number;
  /** Records and slices that could not be read and are missing in all of this. */
  readonly unreadable: number;
}

/** Adds up records, and other sums. */
export class SplitSum {
  readonly #states = new Map<SplitState, number>(SPLIT_STATES.map((state) => [state, 0]));
  readonly #before = new SizeHistogram();
  readonly #after = new SizeHistogram();
  #partsEstimated = 0;
  #divertedBytes = 0;
  #storageBytes = 0;
  #unreadable = 0;

  get states(): ReadonlyMap<SplitState, number> {
    return this.#states;
  }

  get storageBytes(): number {
    return this.#storageBytes;
  }

  /** Whether there is nothing to say. */
  get isEmpty(): boolean {
    const splits = this.#states.values().reduce((sum, count) => sum + count, 0);
    return splits === 0 && this.#storageBytes === 0 && this.#unreadable === 0;
  }

  addRecord({ state, segments }: Pick<SplitRecord, "state" | "segments">): void {
    this.#states.set(state, (this.#states.get(state) ?? 0) + 1);
    const completed = segments.filter((segment) => segment.state === "COMPLETED");
    if (completed.length === 0) return;
    this.#before.add(completed.reduce((sum, { bytes }) => sum + bytes, 0));
    for (const segment of completed) {
      this.#addParts(segment);
      if (segment.confirmedAt !== null) this.#divertedBytes += segment.bytes;
    }
  }

  addStorage(bytes: number): void {
    this.#storageBytes += bytes;
  }

  addUnreadable(): void {
    this.#unreadable++;
  }

  add(other: SplitSum): void {
    for (const [state, count] of other.#states) {
      this.#states.set(state, (this.#states.get(state) ?? 0) + count);
    }
    this.#before.merge(other.#before);
    this.#after.merge(other.#after);
    this.#partsEstimated += other.#partsEstimated;
    this.#divertedBytes += other.#divertedBytes;
    this.#storageBytes += other.#storageBytes;
    this.#unreadable += other.#unreadable;
  }

  summary(): SplitSummary {
    return {
      states: new Map(this.#states),
      before: this.#before.distribution(),
      after: this.#after.distribution(),
      partsEstimated: this.#partsEstimated,
      divertedBytes: this.#divertedBytes,
      storageBytes: this.#storageBytes,
      unreadable: this.#unreadable,
    };
  }

  #addParts({ partSizes, partRanges, bytes }: Segment): void {
    if (partSizes !== undefined) {
      this.#after.merge(SizeHistogram.of(partSizes));
      return;
    }
    const parts = partRanges.reduce((sum, { count }) => sum + count, 0);
    if (parts === 0) return;
    this.#after.add(Math.round(bytes / parts), parts);
    this.#partsEstimated += parts;
  }
}

/** Of a namespace without splits. */
export const NO_SPLITS: SplitSummary = new SplitSum().summary();
