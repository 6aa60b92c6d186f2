/** Plans a namespace from a workload as a caller gives it, at once. */
import { Problems } from "../../src/lib/problems.ts";
import { mergeConfig } from "../../src/model/merge-config.ts";
import type { NamespaceConfigPatch } from "../../src/model/merge-config.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../../src/model/namespace-config.ts";
import { timeMargins } from "../../src/model/time-margins.ts";
import { checkWorkload, patchOfWorkload } from "../../src/provision/check-workload.ts";
import { BUILT_IN_HARDWARE } from "../../src/provision/hardware.ts";
import type { HardwareTable } from "../../src/provision/hardware.ts";
import type { NamespacePlan } from "../../src/provision/plan.ts";
import { planPartitions } from "../../src/provision/plan-partitions.ts";
import type { WorkloadInput } from "../../src/provision/workload.ts";

export const MARGINS = timeMargins({
  clockSkewMs: 1_000,
  viewMaxAgeMs: 10_000,
  writeMaxMs: 10_000,
});

export interface PlannedOptions {
  readonly seed?: number;
  readonly worlds?: number;
  readonly hardware?: HardwareTable;
  readonly patch?: NamespaceConfigPatch;
}

export function planned(input: WorkloadInput, options: PlannedOptions = {}): NamespacePlan {
  const { seed = 1, worlds = 32, hardware = BUILT_IN_HARDWARE, patch = {} } = options;
  const problems = new Problems();
  const checked = checkWorkload(input, problems);
  if (checked === undefined) throw new Error(problems.list().join("; "));
  const work = planPartitions({
    ...checked,
    config: configOf(input, patch),
    margins: MARGINS,
    hardware,
    seed,
    worlds,
  });
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

export function configOf(input: WorkloadInput, patch: NamespaceConfigPatch = {}) {
  const { config } = mergeConfig(DEFAULT_NAMESPACE_CONFIG, patchOfWorkload(input), []);
  return mergeConfig(config, patch, []).config;
}
