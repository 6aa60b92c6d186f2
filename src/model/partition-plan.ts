/** What a simulation of a workload expects of a partitioning. A namespace created from it keeps it. */
import type { Micros } from "../lib/time-units.ts";
import type { TimePartition } from "./namespace-config.ts";

/** Over the simulated worlds, from the fifth percentile to the ninety-fifth. */
export interface Band {
  readonly low: number;
  readonly mid: number;
  readonly high: number;
}

/** In doublings: of the time of reads, of the limit of a partition, of disk, and so on. */
export interface PartitionCost {
  readonly reads: number;
  readonly wide: number;
  readonly hotSpots: number;
  readonly disk: number;
  readonly tables: number;
}

/** A partitioning with what the simulation expects of it. Bands are over the worlds. */
export interface PartitionPlan {
  readonly timePartition: TimePartition;
  /** The mean over the worlds, in doublings. */
  readonly regret: number;
  readonly costs: PartitionCost;
  readonly p50Bytes: Band;
  readonly p99Bytes: Band;
  readonly maxBytes: Band;
  /** Shares from 0 to 1: what the splitter has to repair. */
  readonly idsBeyondLimit: Band;
  readonly readsBeyondLimit: Band;
  readonly bytesBeyondLimit: Band;
  /** The mean over all reads, and what asking them costs the nodes. */
  readonly partitionsPerRead: Band;
  readonly readOverheadMs: Band;
  /** Of the busiest id, in its busiest hour. */
  readonly peakWritesPerPartition: Band;
  /** That exist at a time, two for each slice. */
  readonly tables: number;
  /** At the horizon: all replicas, compressed, with copies of splits. */
  readonly diskBytes: Band;
}

/** The plan that a namespace was created with. */
export interface ProvisionedPlan {
  readonly plannedAt: Micros;
  readonly seed: number;
  readonly plan: PartitionPlan;
  /** For each alternative, why it was not chosen. */
  readonly why: readonly string[];
}
