/** How far the reads of a namespace trust its splits. */

/**
 * OFF: reads use originals. SHADOW: reads use originals, and a sample also reads the split and
 * compares counts and bytes. COMPARE: reads use originals, and every read is compared byte for
 * byte. SERVE: reads use the split, and a sample is compared.
 */
export const READ_MODES = ["OFF", "SHADOW", "COMPARE", "SERVE"] as const;
export type ReadMode = (typeof READ_MODES)[number];

export interface ReadModeState {
  readonly mode: ReadMode;
  /** Whether evidence advances it. */
  readonly autoAdvance: boolean;
  /** Microseconds: when this mode began. Earlier evidence does not count. */
  readonly since: number;
  /** The process or person that set it, and why. */
  readonly by: string;
  readonly reason: string;
  /**
   * Raised by every change. Evidence belongs to one round, so that a fall-back clears it (rule
   * C13).
   */
  readonly round: number;
  /**
   * In SERVE: the kinds of splits that are served, by `kindName`; any other kind is compared until
   * its own evidence passes. Null: all kinds, because an operator said so.
   */
  readonly kinds: readonly string[] | null;
}

export const FIRST_READ_MODE: Omit<ReadModeState, "since"> = {
  mode: "SHADOW",
  autoAdvance: true,
  by: "braid",
  reason: "initial mode of every namespace",
  round: 0,
  kinds: null,
};

/** A kind of split: the unit of evidence (rule C13). */
export interface SplitKind {
  readonly layout: string;
  /** Of the layout, as this build writes and reads it. */
  readonly layoutVersion: number;
  readonly strategy: string;
}

/**
 * The comparisons of one kind of split in one round of a mode (rule C13). A read without events
 * proves nothing and is not counted (rule C29).
 */
export interface Evidence extends SplitKind {
  readonly round: number;
  readonly readsCompared: number;
  readonly bytesMatched: number;
  readonly bytesDiffered: number;
  /** Distinct splits, up to `SPLIT_MARKS_MAX`. */
  readonly splitsCompared: number;
  /** Microseconds. */
  readonly since: number;
}

/** More event buckets for one id, from a time bucket on (rule C15). */
export interface IdStrategyStep {
  /** Event time: the start of the first time bucket it applies to, in microseconds. */
  readonly from: number;
  /** Multiplies the slice's event buckets. Only grows, by whole factors. */
  readonly factor: number;
}

export interface KillSwitchState {
  readonly on: boolean;
  /** Microseconds; 0: never changed. */
  readonly at: number;
  readonly by: string;
  readonly reason: string;
}
