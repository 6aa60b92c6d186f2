/** ListTunings and DecideTuning: translates messages for the use cases and back. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import { Tuning_Direction, Tuning_State } from "../../gen/braid/v1/tuning_pb.js";
import type { TuningSchema } from "../../gen/braid/v1/tuning_pb.js";
import type { TunedSizes, Tuning, TuningProposal } from "../../model/tuning.ts";
import type { Tunings } from "../../tune/tunings.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { operatorRequestOf } from "./operator-request.ts";
import { namespaceIn } from "./request-fields.ts";
import { timeOfMicros } from "./times.ts";

/** The interface of `Tunings`. */
export type TuningUseCases = Pick<Tunings, "list" | "waiting" | "decide">;

/** No tuning has a longer id. */
const ID_CHARACTERS_MAX = 64;

export function tuningMethods(tunings: TuningUseCases): UnaryMethod[] {
  const service = ControlService.method;
  return [
    messageMethod({
      desc: service.listTunings,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems) => ({ namespace: namespaceIn(request, problems) }),
      handle: async ({ namespace }) => {
        const { tunings: stored, next, nothing } = await tunings.list(namespace);
        return {
          tunings: stored.map(tuningMessage),
          ...(next !== undefined && { next: proposalMessage(next) }),
          nothingWhy: nothing ?? "",
        };
      },
    }),
    messageMethod({
      desc: service.decideTuning,
      changes: true,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems, caller) => {
        const namespace = namespaceIn(request, problems);
        const { id, accept } = request;
        if (id === "") problems.add("id is missing; ListTunings shows it", "id");
        if (id.length > ID_CHARACTERS_MAX) {
          problems.add("id is not one that ListTunings shows", "id");
        }
        return { namespace, id, accept, ...operatorRequestOf(request.reason, caller, problems) };
      },
      handle: async ({ namespace, ...choice }) =>
        tuningMessage(await tunings.decide(namespace, choice)),
    }),
  ];
}

export function tuningMessage(tuning: Tuning): MessageInitShape<typeof TuningSchema> {
  const { effectiveFrom, got, history } = tuning;
  return {
    ...proposalMessage(tuning),
    id: tuning.id,
    state: Tuning_State[tuning.state],
    ...(effectiveFrom > 0 && { effectiveFrom: timeOfMicros(effectiveFrom) }),
    ...(got !== null && { got: sizesMessage(got) }),
    history: history.map(({ at, by, to, why }) => ({
      at: timeOfMicros(at),
      by,
      to: Tuning_State[to],
      why,
    })),
    why: history.at(-1)?.why ?? "",
  };
}

/** It has no id, no state and no history: nothing is stored. */
function proposalMessage(proposal: TuningProposal) {
  const { dryRun } = proposal;
  return {
    direction: Tuning_Direction[proposal.direction],
    evidence: [...proposal.evidence],
    observed: proposal.observed,
    proposed: proposal.proposed,
    from: proposal.from,
    to: proposal.to,
    dryRun: {
      before: sizesMessage(dryRun.before),
      after: sizesMessage(dryRun.after),
      partitionsPerDayBefore: BigInt(dryRun.partitionsPerDayBefore),
      partitionsPerDayAfter: BigInt(dryRun.partitionsPerDayAfter),
      keptLongerSeconds: BigInt(dryRun.keptLongerSeconds),
      keptLongerBytes: BigInt(dryRun.keptLongerBytes),
    },
    why: proposal.observed,
  };
}

function sizesMessage({ p50, p95, p99 }: TunedSizes) {
  return { p50: BigInt(p50), p95: BigInt(p95), p99: BigInt(p99) };
}
