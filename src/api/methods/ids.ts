/** ListIds: the ids of a namespace that begin with a prefix. */
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import { utf8 } from "../../lib/bytes.ts";
import { pageAfter, pageSizeOf, pageTokenAfter } from "../../namespaces/control-pages.ts";
import type { IdFinder } from "../../sizes/find-ids.ts";
import { CONTRACT_EVENT_LIMITS } from "../../wire/event-limits.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { namespaceIn, pageIn } from "./request-fields.ts";

const ID_BYTES_MAX = CONTRACT_EVENT_LIMITS.seriesIdBytesMax;

export type IdsUseCase = Pick<IdFinder, "find">;

export function idMethods(ids: IdsUseCase): UnaryMethod[] {
  return [
    messageMethod({
      desc: ControlService.method.listIds,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems) => {
        const { prefix, timeSlice } = request;
        if (utf8(prefix).length > ID_BYTES_MAX) {
          problems.add(`prefix is longer than an id can be: ${ID_BYTES_MAX} bytes`, "prefix");
        }
        const page = pageIn(request, problems);
        return { namespace: namespaceIn(request, problems), prefix, timeSlice, page };
      },
      handle: async ({ namespace, prefix, timeSlice, page }, signal) => {
        const [pageSize, after] = [pageSizeOf(page), pageAfter(page)];
        const query = { prefix, timeSlice, pageSize, after };
        const found = await ids.find(namespace, query, signal);
        return {
          timeSeriesIds: [...found.ids],
          nextPageToken: found.next === "" ? "" : pageTokenAfter(found.next),
          timeSlices: [...found.slices],
          notSearched: found.notSearched,
        };
      },
    }),
  ];
}
