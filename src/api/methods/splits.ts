/** The methods on splits: translates messages for the use cases and back. */
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import { Split_State } from "../../gen/braid/v1/split_pb.js";
import { Problems } from "../../lib/problems.ts";
import type {
  SplitDetail,
  SplitLocation,
  SplitUseCases,
  OperatorRequest,
} from "../../splits/use-cases.ts";
import { SPLIT_STATES } from "../../model/split.ts";
import { pageSizeOf, pageSizeProblem } from "../../namespaces/control-pages.ts";
import type { Caller } from "../caller.ts";
import { nameOf } from "./enum-names.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { splitMessage } from "./split-message.ts";
import { onlyOperatorRequestOf, operatorRequestOf, splitNamed } from "./operator-request.ts";
import type { Locate, NamedSplit } from "./operator-request.ts";
import { pauseMessage, switchMessage } from "./switch-messages.ts";

export function splitMethods(splits: SplitUseCases): UnaryMethod[] {
  const service = ControlService.method;
  const locate: Locate = (namespace, splitId) => splits.locate(namespace, splitId);
  return [
    messageMethod({
      desc: service.listSplits,
      changes: false,
      namespaceOf: (request) => request.namespace,
      handle: async ({ namespace, state, pageSize, pageToken }) => {
        const problems = new Problems();
        const wanted = nameOf(state, STATES, "state", problems);
        const tooMany = pageSizeProblem({ pageSize });
        if (tooMany !== undefined) problems.add(tooMany);
        problems.throwIfAny("REQUEST_INVALID");
        const page = await splits.list(namespace, {
          state: wanted,
          pageSize: pageSizeOf({ pageSize }),
          pageToken,
        });
        return {
          splits: page.splits.map(splitMessage),
          nextPageToken: page.nextPageToken,
          killSwitch: switchMessage(page.killSwitch),
          paused: page.paused.map(pauseMessage),
        };
      },
    }),
    messageMethod({
      desc: service.getSplit,
      changes: false,
      namespaceOf: (request) => request.namespace,
      handle: async (request) => {
        const problems = new Problems();
        const location = splitNamed(request, problems);
        problems.throwIfAny("REQUEST_INVALID");
        return splitMessage(await splits.get(await location(locate)));
      },
    }),
    messageMethod({
      desc: service.requestSplit,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async (request, caller) =>
        decided(request, caller, locate, (location, operatorRequest) =>
          splits.request(location, { ...operatorRequest, force: request.force }),
        ),
    }),
    messageMethod({
      desc: service.retrySplit,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async (request, caller) =>
        decided(request, caller, locate, (location, operatorRequest) =>
          splits.retry(location, operatorRequest),
        ),
    }),
    messageMethod({
      desc: service.rollbackSplit,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async (request, caller) =>
        decided(request, caller, locate, (location, operatorRequest) =>
          splits.rollback(location, operatorRequest),
        ),
    }),
    messageMethod({
      desc: service.pauseSplits,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async ({ namespace, reason }, caller) => {
        const { pause, wasPaused } = await splits.pause(
          namespace,
          onlyOperatorRequestOf(reason, caller),
        );
        return { pause: pauseMessage(pause), wasPaused };
      },
    }),
    messageMethod({
      desc: service.resumeSplits,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async ({ namespace, reason }, caller) => {
        const operatorRequest = onlyOperatorRequestOf(reason, caller);
        return { wasPaused: await splits.resume(namespace, operatorRequest) };
      },
    }),
  ];
}

const STATES = new Map(SPLIT_STATES.map((state) => [Split_State[state], state]));

/** Carries out an operator request on one split and returns the split afterwards. */
async function decided(
  request: NamedSplit & { readonly reason: string },
  caller: Caller,
  locate: Locate,
  decide: (location: SplitLocation, operatorRequest: OperatorRequest) => Promise<SplitDetail>,
) {
  const problems = new Problems();
  const location = splitNamed(request, problems);
  const operatorRequest = operatorRequestOf(request.reason, caller, problems);
  problems.throwIfAny("REQUEST_INVALID");
  return splitMessage(await decide(await location(locate), operatorRequest));
}
