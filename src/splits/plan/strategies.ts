/**
 * The ways to cut a segment into parts, with what each is for and what it costs.
 *
 * A strategy is a line in a table: whether its parts follow one another in time, whether one pass over
 * the original is enough, and how it cuts. What needs order asks for it; the planner asks for one pass.
 */
import { hash32 } from "../../lib/hash.ts";
import type { NamespaceConfig } from "../../model/namespace-config.ts";
import { SPLIT_STRATEGIES } from "../../model/split.ts";
import type { Segment, SplitStrategyName } from "../../model/split.ts";

export interface Strategy {
  readonly name: SplitStrategyName;
  /** Whether parts follow one another in time, so that a page touches one or two of them. */
  readonly ordered: boolean;
  /** Whether it can begin without knowing the whole. */
  readonly onePass: boolean;
  readonly whatFor: string;
  readonly whatItCosts: string;
}

export const STRATEGIES: Readonly<Record<SplitStrategyName, Strategy>> = {
  EVENT_BUCKETS: {
    name: "EVENT_BUCKETS",
    ordered: true,
    onePass: true,
    whatFor: "parts of equal size in the order of time, whatever the events' density",
    whatItCosts: "one pass over the original",
  },
  TIME_BUCKETS: {
    name: "TIME_BUCKETS",
    ordered: true,
    onePass: false,
    whatFor: "parts of equal time, so that a part can be told from an event's time alone",
    whatItCosts:
      "a second pass to learn the size first, and a burst of events makes one part large",
  },
  HASH: {
    name: "HASH",
    ordered: false,
    onePass: false,
    whatFor: "parts of equal load, where the newest events are read far more than the others",
    whatItCosts: "a second pass to learn the size first, and every read merges all parts",
  },
};

/** Every read of a HASH segment merges all its parts: beyond this the merge costs more than the width did. */
export const HASH_PARTS_MAX = 64;

/** Other than that of event buckets, which would put all events of one of them into few parts. On disk: never to be changed. */
const HASH_SEED = 1;

export interface ChosenStrategy {
  readonly strategy: Strategy;
  readonly why: string;
}

/** What the namespace asks for; AUTO takes the one that is ordered and needs one pass. */
export function choose(config: NamespaceConfig): ChosenStrategy {
  const asked = SPLIT_STRATEGIES.find((name) => name === config.widePartition.strategy);
  if (asked !== undefined) {
    return { strategy: STRATEGIES[asked], why: `the namespace asks for ${asked}` };
  }
  const strategy = STRATEGIES.EVENT_BUCKETS;
  const others = Object.values(STRATEGIES)
    .filter(({ name }) => name !== strategy.name)
    .map(({ name, whatItCosts }) => `${name} costs ${whatItCosts}`);
  return {
    strategy,
    why: `${strategy.name} gives ${strategy.whatFor}, for ${strategy.whatItCosts}; ${others.join("; ")}`,
  };
}

/** Says where one pass over a segment, newest first, begins a new part. Made for one pass. */
export interface PartCutter {
  /**
   * Whether the part that holds `partBytes` in `partEvents` is closed before an event of this time.
   * Asked before each event, or at least before each of another microsecond: it never cuts inside one
   * (rule C7). `partsSoFar` are closed already.
   */
  cutBefore(time: number, partBytes: number, partEvents: number, partsSoFar: number): boolean;
}

export function cutterOf(segment: Segment, maxParts: number): PartCutter {
  switch (segment.strategy) {
    case "EVENT_BUCKETS":
      return new FullPartCutter(segment.partBytes, maxParts);
    case "TIME_BUCKETS":
      return new EqualTimeCutter(segment, maxParts);
    case "HASH":
      return NEVER;
  }
}

/** Which of a HASH segment's parts holds an event. */
export function hashPartOf(parts: number, eventId: Uint8Array): number {
  return parts <= 1 ? 0 : hash32(eventId, HASH_SEED) % parts;
}

/** The last part there may be takes the rest. */
class FullPartCutter implements PartCutter {
  readonly #partBytes: number;
  readonly #maxParts: number;
  #lastTime: number | undefined;

  constructor(partBytes: number, maxParts: number) {
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

class EqualTimeCutter implements PartCutter {
  readonly #segment: Segment;
  readonly #maxParts: number;
  /** Which stretch the open part's events lie in, counted from the segment's end. */
  #slot: number | undefined;

  constructor(segment: Segment, maxParts: number) {
    this.#segment = segment;
    this.#maxParts = maxParts;
  }

  cutBefore(time: number, _partBytes: number, partEvents: number, partsSoFar: number): boolean {
    const slot = this.#slotOf(time);
    const cut = partEvents > 0 && this.#slot !== undefined && slot !== this.#slot;
    // A part that may not be closed goes on, and is not closed for the same reason later.
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

const NEVER: PartCutter = { cutBefore: () => false };
