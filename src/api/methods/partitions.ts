/** ListPartitions: the largest partitions of a slice. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  ControlService,
  ListPartitionsRequest_OrderBy,
} from "../../gen/braid/v1/control_service_pb.js";
import type {
  ListPartitionsResponseSchema,
  SizedPartitionSchema,
} from "../../gen/braid/v1/control_service_pb.js";
import { Split_State } from "../../gen/braid/v1/split_pb.js";
import { ExplainedPartition_Route } from "../../gen/braid/v1/time_series_service_pb.js";
import { pageAfter, pageSizeOf, pageTokenAfter } from "../../namespaces/control-pages.ts";
import type {
  ListedPartition,
  PartitionListing,
  PartitionOrder,
  PartitionPage,
} from "../../sizes/list-partitions.ts";
import { nameOf } from "./enum-names.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { namespaceIn, pageIn } from "./request-fields.ts";
import { timeOfMicros } from "./times.ts";

export type PartitionsUseCase = Pick<PartitionListing, "list">;

const ORDERS: ReadonlyMap<ListPartitionsRequest_OrderBy, PartitionOrder> = new Map([
  [ListPartitionsRequest_OrderBy.BYTES, "BYTES"],
  [ListPartitionsRequest_OrderBy.EVENTS, "EVENTS"],
]);

export function partitionMethods(partitions: PartitionsUseCase): UnaryMethod[] {
  return [
    messageMethod({
      desc: ControlService.method.listPartitions,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems) => ({
        namespace: namespaceIn(request, problems),
        timeSlice: request.timeSlice,
        order: nameOf(request.orderBy, ORDERS, "orderBy", problems) ?? "BYTES",
        page: pageIn(request, problems),
      }),
      handle: async ({ namespace, timeSlice, order, page }) => {
        const [pageSize, after] = [pageSizeOf(page), pageAfter(page)];
        return pageMessage(await partitions.list(namespace, { timeSlice, order, pageSize, after }));
      },
    }),
  ];
}

function pageMessage({
  timeSlice,
  walk,
  partitions,
  next,
}: PartitionPage): MessageInitShape<typeof ListPartitionsResponseSchema> {
  return {
    partitions: partitions.map(partitionMessage),
    ...(walk === undefined ? {} : { asOf: timeOfMicros(walk.asOf) }),
    complete: walk?.complete ?? false,
    nextPageToken: next === "" ? "" : pageTokenAfter(next),
    timeSlice,
    totalBytes: BigInt(walk?.totalBytes ?? 0),
    totalEvents: BigInt(walk?.totalEvents ?? 0),
  };
}

function partitionMessage(
  partition: ListedPartition,
): MessageInitShape<typeof SizedPartitionSchema> {
  const { seriesId, timeBucket, eventBucket, bytes, events, share, exact, route, split } =
    partition;
  return {
    timeSeriesId: seriesId,
    timeBucket,
    eventBucket,
    bytes: BigInt(bytes),
    events: BigInt(events),
    share,
    exact,
    route: ExplainedPartition_Route[route],
    ...(split === undefined ? {} : { splitState: Split_State[split.state], splitId: split.id }),
  };
}
