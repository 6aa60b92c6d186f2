/**
 * Plans namespaces for callers: checks what they give, and runs a bounded number of simulations at a
 * time, each in short steps (rule C27).
 */
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import { inSteps } from "../lib/in-steps.ts";
import type { Problems } from "../lib/problems.ts";
import { mergeConfig } from "../model/merge-config.ts";
import type { NamespaceConfigPatch } from "../model/merge-config.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../model/namespace-config.ts";
import type { NamespaceConfig } from "../model/namespace-config.ts";
import type { ProvisionedPlan } from "../model/partition-plan.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import { candidatesFor } from "./candidates.ts";
import { checkWorkload, patchOfWorkload } from "./check-workload.ts";
import { BUILT_IN_HARDWARE, checkHardware } from "./hardware.ts";
import type { HardwareTable } from "./hardware.ts";
import type { NamespacePlan, PlanRequest } from "./plan.ts";
import { planPartitions } from "./plan-partitions.ts";
import type { WorkloadInput } from "./workload.ts";

export interface PlanInput {
  readonly workload: WorkloadInput;
  /** Fields of the configuration that the workload does not decide. They win over it. */
  readonly patch: NamespaceConfigPatch;
  /** Default: 1. */
  readonly seed?: number | undefined;
  /** Default: 256. */
  readonly worlds?: number | undefined;
  /** Default: the built-in table. */
  readonly hardware?: HardwareTable | undefined;
}

const SEED = 1;
const WORLDS = 256;
const WORLDS_MAX = 1_024;
/** Of one process. A simulation takes about a second of a processor. */
const RUNNING_MAX = 2;
const RETRY_MS = 1_000;

/** What the simulation needs; undefined if `problems` has a problem of it. */
export function checkPlan(
  { workload: input, patch, seed = SEED, worlds = WORLDS, hardware }: PlanInput,
  margins: TimeMargins,
  problems: Problems,
): PlanRequest | undefined {
  const checked = checkWorkload(input, problems);
  const table = hardware === undefined ? BUILT_IN_HARDWARE : checkHardware(hardware, problems);
  if (!Number.isInteger(seed) || seed < 0 || seed > 0xffff_ffff) {
    problems.add(`seed (${seed}) must be a whole number from 0 to 4294967295`, "seed");
  }
  if (!Number.isInteger(worlds) || worlds < 1 || worlds > WORLDS_MAX) {
    problems.add(`worlds (${worlds}) must be a whole number from 1 to ${WORLDS_MAX}`, "worlds");
  }
  if (patch.timePartition !== undefined) {
    problems.add(
      "config.timePartition and a workload exclude each other: leave out one of them",
      "config.timePartition",
    );
  }
  const config = plannedConfig(input, patch);
  if (checked === undefined || table === undefined || problems.count > 0) {
    // All problems at once. Alone, those of the configuration are reported by the simulation.
    for (const problem of candidatesFor(config, margins).problems) problems.add(problem);
    return undefined;
  }
  return { ...checked, config, margins, hardware: table, seed, worlds };
}

/** All of a namespace's configuration but its partitioning. */
function plannedConfig(input: WorkloadInput, patch: NamespaceConfigPatch): NamespaceConfig {
  const { config } = mergeConfig(DEFAULT_NAMESPACE_CONFIG, patchOfWorkload(input), []);
  return mergeConfig(config, patch, []).config;
}

export class Planner {
  readonly #margins: TimeMargins;
  readonly #clock: Clock;
  #running = 0;

  constructor({ margins, clock }: { readonly margins: TimeMargins; readonly clock: Clock }) {
    this.#margins = margins;
    this.#clock = clock;
  }

  /** See `checkPlan`. */
  check(input: PlanInput, problems: Problems): PlanRequest | undefined {
    return checkPlan(input, this.#margins, problems);
  }

  /** Rejects with OVERLOADED if as many simulations run as may. */
  async plan(request: PlanRequest, signal: AbortSignal): Promise<NamespacePlan> {
    if (this.#running >= RUNNING_MAX) {
      throw new ServiceError("OVERLOADED", `${RUNNING_MAX} plans are being made already`, {
        retryAfterMs: RETRY_MS,
      });
    }
    this.#running++;
    try {
      return await inSteps(abortable(planPartitions(request), signal), false);
    } finally {
      this.#running--;
    }
  }

  /** The part of a plan that a namespace keeps. */
  keep({ chosen, alternatives, seed }: NamespacePlan): ProvisionedPlan {
    return {
      plannedAt: this.#clock.nowMicros(),
      seed,
      plan: chosen,
      why: alternatives.map(({ name, whyNot }) => `${name}: ${whyNot}`),
    };
  }
}

function* abortable<T>(work: Generator<void, T>, signal: AbortSignal): Generator<void, T> {
  for (;;) {
    signal.throwIfAborted();
    const step = work.next();
    if (step.done === true) return step.value;
    yield;
  }
}
