/** ListPartitions: the largest partitions of a slice. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  ControlService,
  ListPartitionsRequest_OrderBy,
} from "../../gen/braid/v1/control_service_pb.js";
import type {
  ListPartitionsRequest,
  ListPartitionsResponseSchema,
  SizedPartitionSchema,
} from "../../gen/braid/v1/control_service_pb.js";
import { Split_State } from "../../gen/braid/v1/split_pb.js";
import { ExplainedPartition_Route } from "../../gen/braid/v1/time_series_service_pb.js";
import { pageAfter, pageSizeOf, pageTokenAfter } from "../../namespaces/control-pages.ts";
import { formatCount } from "../../lib/quantity.ts";
import type { Problems } from "../../lib/problems.ts";
import type {
  ListedPartition,
  PartitionFilter,
  PartitionListing,
  PartitionOrder,
  PartitionPage,
} from "../../sizes/list-partitions.ts";
import { TOP_PARTITIONS_MAX } from "../../sizes/walk-tally.ts";
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
        filter: filterIn(request, problems),
      }),
      handle: async ({ page, namespace, ...query }) => {
        const [pageSize, after] = [pageSizeOf(page), pageAfter(page)];
        return pageMessage(await partitions.list(namespace, { ...query, pageSize, after }));
      },
    }),
  ];
}

function filterIn(request: ListPartitionsRequest, problems: Problems): PartitionFilter {
  const { timeBucketMin, timeBucketMax, hashFrom: from = 0, hashTo: to = 1 } = request;
  const [bytesMin, bytesMax] = [numberOf(request.bytesMin), numberOf(request.bytesMax)];
  if (isEmpty(timeBucketMin, timeBucketMax)) {
    problems.add("timeBucketMin is above timeBucketMax", "timeBucketMin");
  }
  if (isEmpty(bytesMin, bytesMax)) problems.add("bytesMin is above bytesMax", "bytesMin");
  if (!(from >= 0 && from <= to && to <= 1)) {
    problems.add("hashFrom and hashTo must be from 0 to 1, in this order", "hashFrom");
  }
  return {
    timeBucketMin,
    timeBucketMax,
    bytesMin,
    bytesMax,
    seriesId: request.timeSeriesId === "" ? undefined : request.timeSeriesId,
    idFraction: from === 0 && to === 1 ? undefined : { from, to },
  };
}

function isEmpty(min: number | undefined, max: number | undefined): boolean {
  return min !== undefined && max !== undefined && min > max;
}

function numberOf(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function coverageOf({ walk }: PartitionPage): string {
  if (walk === undefined)
    return "partitions that reads have detected: the slice was not walked yet";
  return (
    `the ${formatCount(TOP_PARTITIONS_MAX)} largest by bytes and by events that the last walk ` +
    "stored, and those with a split; smaller ones are not listed"
  );
}

function pageMessage(page: PartitionPage): MessageInitShape<typeof ListPartitionsResponseSchema> {
  const { timeSlice, walk, partitions, next } = page;
  return {
    partitions: partitions.map(partitionMessage),
    known: page.known,
    matching: page.matching,
    coverage: coverageOf(page),
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
