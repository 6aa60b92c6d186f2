/**
 * A tuning: one observation of a namespace's partition sizes, and the partitioning of future slices
 * that follows from it. Stored as it is (`records/tuning-records.ts`).
 */
import type { TimePartition } from "./namespace-config.ts";

/**
 * PROPOSED waits for an operator. APPLIED is in the configuration, and its effect is not measured
 * yet. EFFECTIVE and TAKEN_BACK are measured. REFUSED is an operator's no. SUPERSEDED was replaced
 * by a newer observation, or by an operator's own change, before a decision.
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

export interface Tuning {
  readonly id: string;
  readonly state: TuningState;
  readonly direction: "WIDEN" | "NARROW";
  /** The slices whose histograms are the evidence, oldest first. */
  readonly evidence: readonly string[];
  /** In the seed's words. */
  readonly observed: string;
  readonly proposed: string;
  readonly from: TimePartition;
  readonly to: TimePartition;
  readonly dryRun: DryRun;
  /** APPLIED and later: event time from which slices have the new partitioning; else 0. */
  readonly effectiveFrom: number;
  /** EFFECTIVE and TAKEN_BACK: the sizes that came out. */
  readonly got: TunedSizes | null;
  /** Oldest first. */
  readonly history: readonly TuningMove[];
}
