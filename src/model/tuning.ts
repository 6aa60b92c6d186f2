/**
 * A tuning: one observation of a namespace's partition sizes, and the partitioning of future slices
 * that follows from it. Stored as it is (`records/tuning-records.ts`).
 */
import type { TimePartition } from "./namespace-config.ts";

/**
 * PROPOSED waits for an operator. APPLIED was decided; the configuration has it unless a process
 * died right there, and its effect is not measured yet. EFFECTIVE and TAKEN_BACK are measured.
 * REFUSED is an operator's no, or the configuration cannot have it. SUPERSEDED was replaced by a
 * newer observation, or by an operator's own change.
 */
export const TUNING_STATES = [
  "PROPOSED",
  "APPLIED",
  "EFFECTIVE",
  "TAKEN_BACK",
  "REFUSED",
  "SUPERSEDED",
] as const;

export type TuningState = (typeof TUNING_STATES)[number];

/** Partition sizes that a tuning is about. Bytes, of one partition of the base strategy. */
export interface TunedSizes {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** What the recorded events would look like under the proposed partitioning. */
export interface DryRun {
  readonly before: TunedSizes;
  readonly after: TunedSizes;
  /** Partitions of one id that a read of 24 h touches. */
  readonly partitionsPerDayBefore: number;
  readonly partitionsPerDayAfter: number;
  /** How much longer than today the slowest events are kept, because their slice is longer. */
  readonly keptLongerSeconds: number;
  /** How many bytes those events take, from the bytes of the observed slice. */
  readonly keptLongerBytes: number;
}

/** One entry of a tuning's history. */
export interface TuningMove {
  /** Believed time in microseconds. */
  readonly at: number;
  /** "tuner" or the operator's name. */
  readonly by: string;
  readonly to: TuningState;
  readonly why: string;
}

/** What the tuner would change, and why. */
export interface TuningProposal {
  readonly direction: "WIDEN" | "NARROW";
  /** The slices whose histograms are the evidence, oldest first. */
  readonly evidence: readonly string[];
  /** A sentence about the sizes. */
  readonly observed: string;
  readonly proposed: string;
  readonly from: TimePartition;
  readonly to: TimePartition;
  readonly dryRun: DryRun;
}

export interface Tuning extends TuningProposal {
  readonly id: string;
  readonly state: TuningState;
  /**
   * Event time from which slices have the new partitioning; 0 until the configuration has it. An
   * APPLIED one with 0 is being applied.
   */
  readonly effectiveFrom: number;
  /**
   * The sizes that came out, once they are measured. An APPLIED one that has them made things
   * worse: it is being taken back, or tuning is off.
   */
  readonly got: TunedSizes | null;
  /** Oldest first. */
  readonly history: readonly TuningMove[];
}
