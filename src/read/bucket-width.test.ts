import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import type { PartitionSource, RouteName } from "../partition/partition-source.ts";
import { BucketWidth } from "./bucket-width.ts";
import type { MeasuredBucket } from "./bucket-width.ts";

/** Ten bytes for each event. */
function source(events: number, originals: number, route: RouteName): PartitionSource {
  return {
    partition: { namespaceId: "n", slice: "s", seriesId: "id", timeBucket: 0, eventBucket: 0 },
    route: { route, why: "", parts: 0 },
    bytes: 10 * events,
    events,
    originalBytes: 10 * originals,
    originalEvents: originals,
    millis: 0,
    isWithdrawn: async () => false,
    next: async () => undefined,
    close: async () => undefined,
  };
}

function bucketOf(...sources: readonly PartitionSource[]): MeasuredBucket {
  const sum = (of: (one: PartitionSource) => number): number =>
    sources.reduce((total, one) => total + of(one), 0);
  return {
    sources,
    bytes: sum((one) => one.bytes),
    events: sum((one) => one.events),
    originalBytes: sum((one) => one.originalBytes),
    originalEvents: sum((one) => one.originalEvents),
  };
}

test("the width of a bucket counts earlier pages and what this reader has examined", () => {
  const width = new BucketWidth({ bytes: 500, events: 50 });
  ok(!width.isEmpty);
  width.add(30, 3);
  width.add(20, 2);
  const bucket = bucketOf(source(5, 5, "ORIGINAL_NOT_SPLIT"));
  deepEqual(width.totalOf(bucket), { bytes: 550, events: 55 });
  deepEqual(width.sharesOf(bucket), [{ bytes: 550, events: 55 }]);
});

test("the width excludes events of a split and events that no page has examined yet", () => {
  const width = new BucketWidth({ bytes: 0, events: 0 });
  // The source returned 20 events, half of them from the split; a page had room for 10.
  width.add(100, 10);
  const bucket = bucketOf(source(10, 10, "ORIGINAL_NOT_SPLIT"), source(10, 0, "SPLIT"));
  deepEqual(width.totalOf(bucket), { bytes: 50, events: 5 });
  deepEqual(width.sharesOf(bucket), [
    { bytes: 50, events: 5 },
    { bytes: 0, events: 0 },
  ]);
});

test("the next bucket starts from zero", () => {
  const width = new BucketWidth({ bytes: 10, events: 1 });
  width.add(10, 1);
  width.reset();
  ok(width.isEmpty);
  deepEqual(width.totalOf(bucketOf(source(0, 0, "ORIGINAL_NOT_SPLIT"))), { bytes: 0, events: 0 });
});
