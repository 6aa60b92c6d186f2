/** The methods on splits: translates messages for the use cases and back. */
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import { ListSplitsRequest_Order, Split_State } from "../../gen/braid/v1/split_pb.js";
import type { ListSplitsRequest } from "../../gen/braid/v1/split_pb.js";
import type { Problems } from "../../lib/problems.ts";
import type { SplitLocation, SplitUseCases, OperatorRequest } from "../../splits/use-cases.ts";
import { SPLIT_STATES } from "../../model/split.ts";
import type { SplitState } from "../../model/split.ts";
import { pageSizeOf } from "../../namespaces/control-pages.ts";
import type { Caller } from "../caller.ts";
import { nameOf } from "./enum-names.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { splitMessage } from "./split-message.ts";
import { summaryMessage } from "./split-summary-message.ts";
import { operatorRequestOf, splitNamed } from "./operator-request.ts";
import type { Locate, NamedSplit } from "./operator-request.ts";
import { namespaceIn, pageIn } from "./request-fields.ts";
import { pauseMessage, switchMessage } from "./switch-messages.ts";

export function splitMethods(splits: SplitUseCases): UnaryMethod[] {
  const service = ControlService.method;
  const locate: Locate = (namespace, splitId) => splits.locate(namespace, splitId);
  return [
    messageMethod({
      desc: service.listSplits,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems) => {
        const newest = request.order === ListSplitsRequest_Order.NEWEST_FIRST;
        if (newest && request.pageToken !== "") {
          problems.add("order NEWEST_FIRST has one page, so give no pageToken", "pageToken");
        }
        return {
          namespace: request.namespace,
          states: statesIn(request, problems),
          wanted: pageIn(request, problems),
          pageToken: request.pageToken,
          newest: nameOf(request.order, ORDERS, "order", problems) === "NEWEST_FIRST",
        };
      },
      handle: async ({ namespace, states, wanted, pageToken, newest }) => {
        const pageSize = pageSizeOf(wanted);
        const page = newest
          ? await splits.newest(namespace, { states, pageSize })
          : await splits.list(namespace, { states, pageSize, pageToken });
        return {
          splits: page.splits.map(splitMessage),
          nextPageToken: page.nextPageToken,
          killSwitch: switchMessage(page.killSwitch),
          paused: page.paused.map(pauseMessage),
          unreadable: BigInt(page.unreadable),
          examinedAll: page.examinedAll,
        };
      },
    }),
    messageMethod({
      desc: service.getSplitSummary,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems) => ({
        namespace: request.namespace,
        wanted: pageIn(request, problems),
        pageToken: request.pageToken,
      }),
      handle: async ({ namespace, wanted, pageToken }) =>
        summaryMessage(
          await splits.summary(namespace, { pageSize: pageSizeOf(wanted), pageToken }),
        ),
    }),
    messageMethod({
      desc: service.getSplit,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: splitNamed,
      handle: async (location) => splitMessage(await splits.get(await location(locate))),
    }),
    messageMethod({
      desc: service.requestSplit,
      changes: true,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems, caller) => ({
        ...requestedSplit(request, problems, caller),
        force: request.force,
      }),
      handle: async ({ location, operatorRequest, force }) =>
        splitMessage(await splits.request(await location(locate), { ...operatorRequest, force })),
    }),
    messageMethod({
      desc: service.retrySplit,
      changes: true,
      namespaceOf: (request) => request.namespace,
      argumentsOf: requestedSplit,
      handle: async ({ location, operatorRequest }) =>
        splitMessage(await splits.retry(await location(locate), operatorRequest)),
    }),
    messageMethod({
      desc: service.rollbackSplit,
      changes: true,
      namespaceOf: (request) => request.namespace,
      argumentsOf: requestedSplit,
      handle: async ({ location, operatorRequest }) =>
        splitMessage(await splits.rollback(await location(locate), operatorRequest)),
    }),
    messageMethod({
      desc: service.pauseSplits,
      changes: true,
      namespaceOf: (request) => request.namespace,
      argumentsOf: requestedPause,
      handle: async ({ namespace, operatorRequest }) => {
        const { pause, wasPaused } = await splits.pause(namespace, operatorRequest);
        return { pause: pauseMessage(pause), wasPaused };
      },
    }),
    messageMethod({
      desc: service.resumeSplits,
      changes: true,
      namespaceOf: (request) => request.namespace,
      argumentsOf: requestedPause,
      handle: async ({ namespace, operatorRequest }) => ({
        wasPaused: await splits.resume(namespace, operatorRequest),
      }),
    }),
  ];
}

const ORDERS = new Map([
  [ListSplitsRequest_Order.BY_PARTITION, "BY_PARTITION"],
  [ListSplitsRequest_Order.NEWEST_FIRST, "NEWEST_FIRST"],
]);

/** The states that a list is limited to; undefined for all. */
function statesIn(
  { state, states }: Pick<ListSplitsRequest, "state" | "states">,
  problems: Problems,
): ReadonlySet<SplitState> | undefined {
  const named = [
    nameOf(state, STATES, "state", problems),
    ...states.map((each) => nameOf(each, STATES, "states", problems)),
  ].filter((name) => name !== undefined);
  if (state !== Split_State.UNSPECIFIED && states.length > 0) {
    problems.add("give state or states, but not both", "states");
  }
  return named.length === 0 ? undefined : new Set(named);
}

const STATES = new Map(SPLIT_STATES.map((state) => [Split_State[state], state]));

/** An operator request on one split. */
function requestedSplit(
  request: NamedSplit & { readonly reason: string },
  problems: Problems,
  caller: Caller,
): {
  readonly location: (locate: Locate) => Promise<SplitLocation>;
  readonly operatorRequest: OperatorRequest;
} {
  return {
    location: splitNamed(request, problems),
    operatorRequest: operatorRequestOf(request.reason, caller, problems),
  };
}

/** An operator request on all splits of a namespace. */
function requestedPause(
  request: { readonly namespace: string; readonly reason: string },
  problems: Problems,
  caller: Caller,
): { readonly namespace: string; readonly operatorRequest: OperatorRequest } {
  return {
    namespace: namespaceIn(request, problems),
    operatorRequest: operatorRequestOf(request.reason, caller, problems),
  };
}
