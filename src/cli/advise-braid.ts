/** What Braid would do with the data of an advice: plans a namespace for it, by simulation. */
import type { Advice } from "../advise/advise.ts";
import { braidWorkload } from "../advise/braid-workload.ts";
import { Problems } from "../lib/problems.ts";
import { timeMargins } from "../model/time-margins.ts";
import { planPartitions } from "../provision/plan-partitions.ts";
import { checkPlan } from "../provision/planner.ts";
import type { NamespacePlan } from "../provision/plan.ts";
import { inSteps } from "../lib/in-steps.ts";
import { ServiceError } from "../lib/errors.ts";
import { DEFAULT_MARGINS } from "./plan.ts";
import { createCommand, partitionText, splitsText } from "./plan-report.ts";

/** Fewer than those of `braid plan`, because the data is known. */
const WORLDS = 32;

export interface BraidAnswer {
  /** The plan as data; undefined if there is none. */
  readonly plan: NamespacePlan["chosen"] | undefined;
  /** For people, one sentence each. */
  readonly sentences: readonly string[];
}

export async function braidAnswer(advice: Advice): Promise<BraidAnswer> {
  const workload = braidWorkload(advice);
  if (workload === undefined) {
    const sentences = ["Braid stores events, which have a time: name the time column with --time"];
    return { plan: undefined, sentences };
  }
  const problems = new Problems();
  const margins = timeMargins(DEFAULT_MARGINS);
  const request = checkPlan({ workload, patch: {}, worlds: WORLDS }, margins, problems);
  if (request === undefined) return none(problems.list());
  try {
    const { chosen } = await inSteps(planPartitions(request), true);
    const { partitionKey } = advice.sample.roles;
    return {
      plan: chosen,
      sentences: [
        `the time series id is ${partitionKey.join(", ")}; partitions: ${partitionText(chosen.timePartition)}`,
        `what is still too large Braid splits by itself, id by id, when its time is over: ${splitsText(chosen, request.config)}`,
        "readers keep one order and one API: which partitions there are is not their concern, and retention drops whole tables, without tombstones",
        createCommand(chosen.timePartition, request.config),
      ],
    };
  } catch (error) {
    if (error instanceof ServiceError) return none([error.message]);
    throw error;
  }
}

function none(problems: readonly string[]): BraidAnswer {
  return {
    plan: undefined,
    sentences: problems.map((problem) => `no plan for Braid: ${problem}`),
  };
}
