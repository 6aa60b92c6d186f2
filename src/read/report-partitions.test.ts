import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { joinedSlices, staticView } from "../../tests/support/static-view.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../model/namespace-config.ts";
import type { PartitionRead } from "../partition/partition-read.ts";
import type { PartitionSource, RouteName } from "../partition/partition-source.ts";
import { reportPartitions } from "./report-partitions.ts";
import type { ReportedBucket } from "./report-partitions.ts";

const SECOND = 1_000_000;
const START = 1_790_000_000 * SECOND;
const [SLICE] = joinedSlices(START, [
  { secondsPerTimeSlice: 20, secondsPerTimeBucket: 10, eventBuckets: 1 },
]);
const WIDE = DEFAULT_NAMESPACE_CONFIG.widePartition.eventsMax + 1;

function source(route: RouteName, originalBytes: number): PartitionSource {
  return {
    partition: { namespaceId: "n", slice: "data_0", seriesId: "s", timeBucket: 0, eventBucket: 0 },
    route: { route, why: "because", parts: 0 },
    bytes: 100,
    events: 10,
    originalBytes,
    originalEvents: originalBytes / 10,
    millis: 1,
    isWithdrawn: async () => false,
    next: async () => undefined,
    close: async () => undefined,
  };
}

function report(one: PartitionSource, change: Partial<ReportedBucket> = {}, end = 20) {
  if (SLICE === undefined) throw new Error("there is a slice");
  const bucket = { slice: SLICE, timeBucket: 0, from: START, to: START + 10 * SECOND };
  const rows: Parameters<typeof reportPartitions>[2] = [];
  const reads: PartitionRead[] = [];
  const wide = reportPartitions(
    {
      view: staticView({ slices: [SLICE] }),
      query: { start: START, end: START + end * SECOND },
      onPartitionRead: (read) => reads.push(read),
    },
    { bucket, sources: [one], progress: "ENDED", widths: [{ bytes: 50, events: 5 }], ...change },
    rows,
  );
  return { wide, row: rows[0], read: reads[0] };
}

test("a partition is reported with what was read of it, and with its width", () => {
  const { wide, row, read } = report(source("ORIGINAL_NOT_SPLIT", 100));
  equal(wide, false);
  deepEqual(row, {
    timeSlice: "data_0",
    timeBucket: 0,
    eventBucket: 0,
    route: "ORIGINAL_NOT_SPLIT",
    why: "because",
    parts: 0,
    bytes: 100,
    events: 10,
    millis: 1,
    read: true,
  });
  deepEqual([read?.bytes, read?.events, read?.route], [50, 5, "ORIGINAL_NOT_SPLIT"]);
});

test("a partition was read whole if the query covers its bucket, the bucket ended, and no split supplied a part", () => {
  equal(report(source("ORIGINAL_NOT_SPLIT", 100)).read?.whole, true);
  equal(report(source("ORIGINAL_NOT_SPLIT", 100), { progress: "UNDER_WAY" }).read?.whole, false);
  equal(report(source("ORIGINAL_NOT_SPLIT", 100), {}, 9).read?.whole, false);
  equal(report(source("ORIGINAL_NOT_SPLIT", 100), {}, 10).read?.whole, true);
  equal(report(source("SPLIT_AND_ORIGINAL", 40)).read?.whole, false);
});

test("an original is wide by its width, or because a split covers a part of it", () => {
  const widths = [{ bytes: 50, events: WIDE }];
  equal(report(source("ORIGINAL_NOT_SPLIT", 100), { widths }).wide, true);
  equal(report(source("ORIGINAL_FALLBACK", 40)).wide, true);
  equal(report(source("SPLIT_AND_ORIGINAL", 40)).wide, false);
});
