/** The methods on blocked ids: translates messages for the use cases and back. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BlockedId_Source, ControlService } from "../../gen/braid/v1/control_service_pb.js";
import type { BlockedIdSchema } from "../../gen/braid/v1/control_service_pb.js";
import type { BlockedId } from "../../model/namespace.ts";
import { LARGE_REQUEST_BYTES_MAX, LARGE_REQUEST_VALUES_MAX, messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import type { NamespaceUseCases } from "./namespaces.ts";
import { namespaceIn, pageIn } from "./request-fields.ts";
import { microsOfTime, timeOfMicros } from "./times.ts";

export function blockedIdMethods(namespaces: NamespaceUseCases): UnaryMethod[] {
  const service = ControlService.method;
  return [
    messageMethod({
      desc: service.blockIds,
      changes: true,
      requestBytesMax: LARGE_REQUEST_BYTES_MAX,
      requestValuesMax: LARGE_REQUEST_VALUES_MAX,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems) => {
        const namespace = namespaceIn(request, problems);
        const ids = request.ids.map((id, i) => ({
          seriesId: id.timeSeriesId,
          reason: id.reason,
          expiresAt: microsOfTime(id.expireTime, `ids[${i}].expireTime`, problems),
        }));
        if (problems.count > 0) namespaces.checkBlocks(ids, problems);
        return { namespace, ids };
      },
      handle: async ({ namespace, ids }) => {
        const blocked = await namespaces.blockIds(namespace, ids);
        return { ids: blocked.map(blockedMessage) };
      },
    }),
    messageMethod({
      desc: service.unblockIds,
      changes: true,
      requestBytesMax: LARGE_REQUEST_BYTES_MAX,
      requestValuesMax: LARGE_REQUEST_VALUES_MAX,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems) => {
        const namespace = namespaceIn(request, problems);
        const { timeSeriesIds } = request;
        if (problems.count > 0) namespaces.checkUnblocks(timeSeriesIds, problems);
        return { namespace, timeSeriesIds };
      },
      handle: async ({ namespace, timeSeriesIds }) => ({
        unblocked: await namespaces.unblockIds(namespace, timeSeriesIds),
      }),
    }),
    messageMethod({
      desc: service.listBlockedIds,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems) => ({
        namespace: namespaceIn(request, problems),
        wanted: pageIn(request, problems),
      }),
      handle: async ({ namespace, wanted }) => {
        const page = await namespaces.listBlockedIds(namespace, wanted);
        return { ids: page.ids.map(blockedMessage), nextPageToken: page.nextPageToken };
      },
    }),
  ];
}

function blockedMessage(block: BlockedId): MessageInitShape<typeof BlockedIdSchema> {
  return {
    timeSeriesId: block.seriesId,
    reason: block.reason,
    ...(block.expiresAt !== undefined && { expireTime: timeOfMicros(block.expiresAt) }),
    blockTime: timeOfMicros(block.blockedAt),
    source: BlockedId_Source[block.source],
  };
}
