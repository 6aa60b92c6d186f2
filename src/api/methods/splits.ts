/** The methods on splits: messages to the use cases and back. */
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import { Split_State } from "../../gen/braid/v1/split_pb.js";
import type { Partition } from "../../gen/braid/v1/split_pb.js";
import { Problems } from "../../lib/problems.ts";
import type {
  SplitDetail,
  SplitLocation,
  SplitUseCases,
  OperatorRequest,
} from "../../splits/use-cases.ts";
import { SPLIT_STATES } from "../../model/split.ts";
import { pageSizeOf } from "../../namespaces/control-pages.ts";
import { nameOf } from "./enum-names.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { splitMessage } from "./split-message.ts";
import { onlyOperatorRequestOf, locationOf, operatorRequestOf } from "./operator-request.ts";

export function splitMethods(splits: SplitUseCases): UnaryMethod[] {
  const service = ControlService.method;
  return [
    messageMethod({
      desc: service.listSplits,
      changes: false,
      namespaceOf: (request) => request.namespace,
      handle: async ({ namespace, state, pageSize, pageToken }) => {
        const problems = new Problems();
        const wanted = nameOf(state, STATES, "state", problems);
        problems.throwIfAny("REQUEST_INVALID");
        const page = await splits.list(namespace, {
          state: wanted,
          pageSize: pageSizeOf({ pageSize }),
          pageToken,
        });
        return { splits: page.splits.map(splitMessage), nextPageToken: page.nextPageToken };
      },
    }),
    messageMethod({
      desc: service.getSplit,
      changes: false,
      namespaceOf: (request) => request.namespace,
      handle: async ({ namespace, partition }) => {
        const problems = new Problems();
        const location = locationOf(namespace, partition, problems);
        problems.throwIfAny("REQUEST_INVALID");
        return splitMessage(await splits.get(location));
      },
    }),
    messageMethod({
      desc: service.requestSplit,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async (request) =>
        decided(request, (location, operatorRequest) => splits.request(location, operatorRequest)),
    }),
    messageMethod({
      desc: service.retrySplit,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async (request) =>
        decided(request, (location, operatorRequest) => splits.retry(location, operatorRequest)),
    }),
    messageMethod({
      desc: service.rollbackSplit,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async (request) =>
        decided(request, (location, operatorRequest) => splits.rollback(location, operatorRequest)),
    }),
    messageMethod({
      desc: service.pauseSplits,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async ({ namespace, reason }) => {
        await splits.pause(namespace, onlyOperatorRequestOf(reason));
        return {};
      },
    }),
    messageMethod({
      desc: service.resumeSplits,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async ({ namespace, reason }) => {
        await splits.resume(namespace, onlyOperatorRequestOf(reason));
        return {};
      },
    }),
  ];
}

const STATES = new Map(SPLIT_STATES.map((state) => [Split_State[state], state]));

/** What an operator wishes of one partition, and the split as it is then. */
async function decided(
  request: {
    readonly namespace: string;
    readonly partition?: Partition | undefined;
    readonly reason: string;
  },
  grant: (location: SplitLocation, operatorRequest: OperatorRequest) => Promise<SplitDetail>,
) {
  const problems = new Problems();
  const location = locationOf(request.namespace, request.partition, problems);
  const operatorRequest = operatorRequestOf(request.reason, problems);
  problems.throwIfAny("REQUEST_INVALID");
  return splitMessage(await grant(location, operatorRequest));
}
