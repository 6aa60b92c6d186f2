/** How far the reads of a namespace trust its splits. */

/**
 * OFF: originals. SHADOW: originals, and for a sample the split beside them, counts and bytes compared.
 * COMPARE: originals, and every read compared byte for byte. SERVE: the split, a sample compared.
 */
export const READ_MODES = ["OFF", "SHADOW", "COMPARE", "SERVE"] as const;
export type ReadMode = (typeof READ_MODES)[number];

export interface ReadModeState {
  readonly mode: ReadMode;
  /** Whether evidence moves it on. */
  readonly autoAdvance: boolean;
  /** Microseconds: when this mode began. Evidence from before does not count. */
  readonly since: number;
  /** Which process, or which person; and why. */
  readonly by: string;
  readonly reason: string;
  /** Raised by every change: evidence belongs to one of them, so that a fall-back clears it (rule C13). */
  readonly round: number;
  /**
   * In SERVE: the kinds of splits that are served, by `kindName`; any other is compared until its own
   * evidence passes. Null: all, as an operator has said.
   */
  readonly kinds: readonly string[] | null;
}

export const FIRST_READ_MODE: Omit<ReadModeState, "since"> = {
  mode: "SHADOW",
  autoAdvance: true,
  by: "braid",
  reason: "how every namespace begins",
  round: 0,
  kinds: null,
};

/** A kind of split: what evidence is for (rule C13). */
export interface SplitKind {
  readonly layout: string;
  /** Of the layout, as this build writes and reads it. */
  readonly layoutVersion: number;
  readonly strategy: string;
}

/** What was compared, for one kind of split, in one round of a mode (rule C13). */
export interface Evidence extends SplitKind {
  readonly round: number;
  readonly readsCompared: number;
  readonly bytesMatched: number;
  readonly bytesDiffered: number;
  /** Microseconds. */
  readonly since: number;
}

/** More event buckets for one id, from a time bucket on (rule C15). */
export interface IdStrategyStep {
  /** Event time: the start of the first time bucket it applies to, in microseconds. */
  readonly from: number;
  /** The slice's event buckets times this. Only grows, by whole factors. */
  readonly factor: number;
}

export interface KillSwitchState {
  readonly on: boolean;
  /** Microseconds; 0: never touched. */
  readonly at: number;
  readonly by: string;
  readonly reason: string;
}
