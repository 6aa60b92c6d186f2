/** A plan of a namespace's partitions and machines: what is asked, and what the simulation answers. */
import type { NamespaceConfig } from "../model/namespace-config.ts";
import type { PartitionPlan } from "../model/partition-plan.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import type { HardwareTable } from "./hardware.ts";
import type { Infrastructure } from "./infrastructure.ts";
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
