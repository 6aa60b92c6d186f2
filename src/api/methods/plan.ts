/** PlanNamespace: what a simulation of a workload advises. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import type { ProvisionedPlanSchema } from "../../gen/braid/v1/plan_pb.js";
import { assert } from "../../lib/errors.ts";
import type { ProvisionedPlan } from "../../model/partition-plan.ts";
import type { Planner } from "../../provision/planner.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { patchOf } from "./namespace-config.ts";
import { timeOfMicros } from "./times.ts";
import { workloadOf } from "./workload-message.ts";

/** The interface of `Planner`. */
export type PlanUseCase = Pick<Planner, keyof Planner>;

export function planMethods(planner: PlanUseCase): UnaryMethod[] {
  return [
    messageMethod({
      desc: ControlService.method.planNamespace,
      changes: false,
      namespaceOf: () => "",
      argumentsOf: ({ workload, seed, worlds, config, hardware }, problems) => {
        const patch = patchOf(config, problems);
        if (workload === undefined) {
          problems.add("workload is missing", "workload");
          return undefined;
        }
        const input = {
          workload: workloadOf(workload, problems),
          patch,
          // 0 is what a request has that gives none.
          ...(seed !== 0 && { seed }),
          ...(worlds !== 0 && { worlds }),
          ...(hardware !== undefined && { hardware }),
        };
        return planner.check(input, problems);
      },
      handle: async (request, signal) => {
        assert(request !== undefined, "a request without a problem can be planned");
        const plan = await planner.plan(request, signal);
        return { ...plan, alternatives: [...plan.alternatives], notes: [...plan.notes] };
      },
    }),
  ];
}

export function provisionedMessage({
  plannedAt,
  seed,
  plan,
  why,
}: ProvisionedPlan): MessageInitShape<typeof ProvisionedPlanSchema> {
  return { planTime: timeOfMicros(plannedAt), seed, plan, why: [...why] };
}
