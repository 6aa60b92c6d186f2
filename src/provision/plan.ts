/** A plan of a namespace's partitions and machines: what is asked, and what the simulation answers. */
import type { NamespaceConfig, TimePartition } from "../model/namespace-config.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import type { HardwareTable } from "./hardware.ts";
import type { Infrastructure } from "./infrastructure.ts";
import type { PartitionCost } from "./partition-cost.ts";
import type { Band } from "./quantiles.ts";
import type { Workload } from "./workload.ts";

export interface PlanRequest {
  readonly workload: Workload;
  /** What the simulation assumed, to be reported. */
  readonly assumed: readonly string[];
  /** All of the namespace's configuration but its partitioning, which is chosen. */
  readonly config: NamespaceConfig;
  readonly margins: TimeMargins;
  readonly hardware: HardwareTable;
  readonly seed: number;
  readonly worlds: number;
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
  readonly tables: number;
  /** At the horizon: all replicas, compressed, with copies of splits. */
  readonly diskBytes: Band;
}

export interface RejectedPlan {
  /** What it is: "public planner", "wider time bucket", … */
  readonly name: string;
  readonly plan: PartitionPlan;
  readonly whyNot: string;
}

export interface NamespacePlan {
  readonly chosen: PartitionPlan;
  readonly alternatives: readonly RejectedPlan[];
  readonly infrastructure: Infrastructure;
  readonly notes: readonly string[];
  readonly seed: number;
  readonly worlds: number;
  readonly candidates: number;
}
