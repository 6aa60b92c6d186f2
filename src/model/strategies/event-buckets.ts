/** EVENT_BUCKETS: parts in the order of time, cut when they are full. */
import type { DividedSegment, OrderedStrategy, PartCutter } from "./strategy.ts";

export const eventBuckets: OrderedStrategy = {
  name: "EVENT_BUCKETS",
  ordered: true,
  onePass: true,
  whatFor: "parts of equal size in the order of time, whatever the events' density",
  whatItCosts: "one pass over the original",
  cutter: (segment, maxParts) => new FullPartCutter(segment, maxParts),
};

/** When the limit of parts is reached, the last part takes the rest. */
class FullPartCutter implements PartCutter {
  readonly #partBytes: number;
  readonly #maxParts: number;
  #lastTime: number | undefined;

  constructor({ partBytes }: DividedSegment, maxParts: number) {
    this.#partBytes = partBytes;
    this.#maxParts = maxParts;
  }

  cutBefore(time: number, partBytes: number, partEvents: number, partsSoFar: number): boolean {
    const sameMicrosecond = time === this.#lastTime;
    this.#lastTime = time;
    if (sameMicrosecond || partEvents === 0) return false;
    return partBytes >= this.#partBytes && partsSoFar + 1 < this.#maxParts;
  }
}
