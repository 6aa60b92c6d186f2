/** TIME_BUCKETS: parts of equal time. */
import type { DividedSegment, OrderedStrategy, PartCutter } from "./strategy.ts";

export const timeBuckets: OrderedStrategy = {
  name: "TIME_BUCKETS",
  ordered: true,
  onePass: false,
  whatFor: "parts of equal time, so that a part can be told from an event's time alone",
  whatItCosts: "a second pass to learn the size first, and a burst of events makes one part large",
  cutter: (segment, maxParts) => new EqualTimeCutter(segment, maxParts),
};

class EqualTimeCutter implements PartCutter {
  readonly #segment: DividedSegment;
  readonly #maxParts: number;
  /** Which subrange the open part's events lie in, counted from the segment's end. */
  #slot: number | undefined;

  constructor(segment: DividedSegment, maxParts: number) {
    this.#segment = segment;
    this.#maxParts = maxParts;
  }

  cutBefore(time: number, _partBytes: number, partEvents: number, partsSoFar: number): boolean {
    const slot = this.#slotOf(time);
    const cut = partEvents > 0 && this.#slot !== undefined && slot !== this.#slot;
    // A part that may not be closed takes the next subrange too, and is not closed for the same
    // reason later.
    if (cut && partsSoFar + 1 >= this.#maxParts) return false;
    this.#slot = slot;
    return cut;
  }

  #slotOf(time: number): number {
    const { from, to, partsPlanned } = this.#segment;
    const width = Math.max(1, Math.ceil((to - from) / Math.max(1, partsPlanned)));
    return Math.floor((to - 1 - time) / width);
  }
}
