/**
 * A strategy: a way to divide a segment into parts, with its purpose, its cost and its
 * capabilities. Callers ask for capabilities, never for names.
 */

/** The fields of a segment that a strategy needs. */
export interface DividedSegment {
  readonly from: number;
  readonly to: number;
  /** A part is closed when it holds this much. */
  readonly partBytes: number;
  /** 0 where the strategy needs one pass. */
  readonly partsPlanned: number;
}

interface AnyStrategy {
  readonly name: string;
  /** Whether it can begin without knowing the whole: then parts are cut when they are full. */
  readonly onePass: boolean;
  /** How many parts a segment may have; undefined: as many as the namespace allows. */
  readonly partsMax?: number;
  /** For people, in the reason of a plan. */
  readonly whatFor: string;
  readonly whatItCosts: string;
}

/** Parts follow one another in time, so that a page touches one or two of them. */
export interface OrderedStrategy extends AnyStrategy {
  readonly ordered: true;
  /** For one pass over a segment, newest first; `maxParts`: how many parts the segment may have. */
  cutter(segment: DividedSegment, maxParts: number): PartCutter;
}

/** Every part covers all of the segment's time: all are written at once, and a read merges them. */
export interface SpreadStrategy extends AnyStrategy {
  readonly ordered: false;
  /** Which of `parts` parts holds an event. Stored data depends on it: it never changes. */
  partOf(parts: number, eventId: Uint8Array): number;
}

export type Strategy = OrderedStrategy | SpreadStrategy;

/** Decides where one pass over a segment, newest first, begins a new part. Made for one pass. */
export interface PartCutter {
  /**
   * Whether the part that holds `partBytes` in `partEvents` is closed before an event of this time.
   * Called before each event, or at least before each new microsecond: it never cuts inside one
   * (rule C7). `partsSoFar` are closed already.
   */
  cutBefore(time: number, partBytes: number, partEvents: number, partsSoFar: number): boolean;
}
