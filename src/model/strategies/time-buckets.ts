/** TIME_BUCKETS: parts of equal time. */
import type { DividedSegment, OrderedStrategy, PartCutter } from "./strategy.ts";

export const timeBuckets: OrderedStrategy = {
  name: "TIME_BUCKETS",
  ordered: true,
  onePass: false,
  whatFor: "parts of equal time, so that an event's time alone determines its part",
  whatItCosts: "a second pass to learn the size first, and a burst of events makes one part large",
  cutter: (segment, maxParts) => new EqualTimeCutter(segment, maxParts),
};

class EqualTimeCutter implements PartCutter {
  readonly #segment: DividedSegment;
  readonly #maxParts: number;
  /** The subrange of the open part's events, counted from the segment's end. */
  #slot: number | undefined;

  constructor(segment: DividedSegment, maxParts: number) {
    this.#segment = segment;
    this.#maxParts = maxParts;
  }

  cutBefore(time: number, _partBytes: number, partEvents: number, partsSoFar: number): boolean {
    const slot = this.#slotOf(time);
    const cut = partEvents > 0 && this.#slot !== undefined && slot !== this.#slot;
    // At the limit of parts, the open part takes all further subranges.
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
