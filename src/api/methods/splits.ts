/** The methods on splits: messages to the use cases and back. */
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import { Split_State } from "../../gen/braid/v1/split_pb.js";
import type { Partition } from "../../gen/braid/v1/split_pb.js";
import { Problems } from "../../lib/problems.ts";
import type { SplitDetail, SplitPlace, SplitUseCases, Wish } from "../../splits/use-cases.ts";
import { SPLIT_STATES } from "../../model/split.ts";
import { pageSizeOf } from "../../namespaces/control-pages.ts";
import { nameOf } from "./enum-names.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { splitMessage } from "./split-message.ts";
import { onlyWishOf, placeOf, wishOf } from "./wishes.ts";

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
        const place = placeOf(namespace, partition, problems);
        problems.throwIfAny("REQUEST_INVALID");
        return splitMessage(await splits.get(place));
      },
    }),
    messageMethod({
      desc: service.requestSplit,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async (request) => granted(request, (place, wish) => splits.request(place, wish)),
    }),
    messageMethod({
      desc: service.retrySplit,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async (request) => granted(request, (place, wish) => splits.retry(place, wish)),
    }),
    messageMethod({
      desc: service.rollbackSplit,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async (request) => granted(request, (place, wish) => splits.rollback(place, wish)),
    }),
    messageMethod({
      desc: service.pauseSplits,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async ({ namespace, reason }) => {
        await splits.pause(namespace, onlyWishOf(reason));
        return {};
      },
    }),
    messageMethod({
      desc: service.resumeSplits,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async ({ namespace, reason }) => {
        await splits.resume(namespace, onlyWishOf(reason));
        return {};
      },
    }),
  ];
}

const STATES = new Map(SPLIT_STATES.map((state) => [Split_State[state], state]));

/** What an operator wishes of one partition, and the split as it is then. */
async function granted(
  request: {
    readonly namespace: string;
    readonly partition?: Partition | undefined;
    readonly reason: string;
  },
  grant: (place: SplitPlace, wish: Wish) => Promise<SplitDetail>,
) {
  const problems = new Problems();
  const place = placeOf(request.namespace, request.partition, problems);
  const wish = wishOf(request.reason, problems);
  problems.throwIfAny("REQUEST_INVALID");
  return splitMessage(await grant(place, wish));
}
