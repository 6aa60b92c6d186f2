import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { eventBucketsOf } from "../model/partition.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import {
  bucketsOf,
  countBuckets,
  countPartitions,
  endOfBucket,
  eventBucketsMax,
} from "./buckets-of.ts";
import type { BucketRange } from "./buckets-of.ts";

const SECOND = 1_000_000;

/** Three joined slices of different widths and buckets. */
const slices: TimeSlice[] = [
  slice("a", 0, 60, 10),
  slice("b", 60, 120, 60),
  slice("c", 120, 240, 40),
];

const anyRange = fc
  .tuple(fc.integer({ min: -50, max: 300 }), fc.integer({ min: 1, max: 300 }))
  .map(([start, width]) => ({ start: start * SECOND, end: (start + width) * SECOND }));

test("buckets cover the interval without gap or overlap, in the order of the read", () => {
  fc.assert(
    fc.property(anyRange, (range) => {
      const forward = [...bucketsOf(slices, { ...range, order: "OLDEST_FIRST", after: undefined })];
      const back = [...bucketsOf(slices, { ...range, order: "NEWEST_FIRST", after: undefined })];
      deepEqual(back, forward.toReversed());
      for (let i = 1; i < forward.length; i++) equal(forward[i]?.from, forward[i - 1]?.to);
      const from = Math.max(range.start, 0);
      const to = Math.min(range.end, 240 * SECOND);
      if (from >= to) equal(forward.length, 0);
      else {
        equal(forward[0]?.from, from);
        equal(forward.at(-1)?.to, to);
      }
      const counted = slices.reduce((sum, s) => sum + countBuckets(s, range.start, range.end), 0);
      equal(counted, forward.length);
    }),
  );
});

test("R12: continuing from the end of a bucket gives exactly the buckets behind it", () => {
  for (const order of ["OLDEST_FIRST", "NEWEST_FIRST"] as const) {
    const range = { start: 5 * SECOND, end: 235 * SECOND, order };
    const all = [...bucketsOf(slices, { ...range, after: undefined })];
    all.forEach((bucket, i) => {
      const after = endOfBucket(bucket, order);
      deepEqual([...bucketsOf(slices, { ...range, after })], all.slice(i + 1));
    });
  }
});

test("continuing inside a microsecond still includes the rest of that microsecond", () => {
  const after = { time: 15 * SECOND, id: Uint8Array.of(1) };
  const range = { start: 0, end: 240 * SECOND, after };
  const up = first(bucketsOf(slices, { ...range, order: "OLDEST_FIRST" }));
  equal(up.from, 15 * SECOND);
  const down = first(bucketsOf(slices, { ...range, order: "NEWEST_FIRST" }));
  equal(down.to, 15 * SECOND + 1);
});

test("the partitions of an id with more event buckets are counted bucket by bucket", () => {
  const time = fc.integer({ min: -10 * SECOND, max: 250 * SECOND });
  const step = fc.tuple(time, time).map(([a, b]) => [
    { from: Math.min(a, b), factor: 2 },
    { from: Math.max(a, b), factor: 8 },
  ]);
  fc.assert(
    fc.property(fc.option(step, { nil: undefined }), time, time, (steps, start, end) => {
      const range = { start, end, order: "OLDEST_FIRST" as const, after: undefined };
      const each = [...bucketsOf(slices, range)].map((bucket) =>
        eventBucketsOf(bucket.slice, bucket.timeBucket, steps),
      );
      const counted = slices.reduce((sum, s) => sum + countPartitions(s, start, end, steps), 0);
      equal(
        counted,
        each.reduce((sum, n) => sum + n, 0),
      );
      ok(eventBucketsMax(slices, range, steps) >= Math.max(1, ...each));
    }),
  );
});

test("no bucket counts more partitions than a read may ask", () => {
  const steps = [
    { from: 0, factor: 512 },
    { from: 20 * SECOND, factor: 1_536 },
  ];
  const range = { start: 0, end: 60 * SECOND, order: "OLDEST_FIRST" as const, after: undefined };
  for (const eventBuckets of [1, 3, 64, 1_024]) {
    const [narrow] = slices;
    ok(narrow !== undefined);
    const many = { ...narrow, timePartition: { ...narrow.timePartition, eventBuckets } };
    const each = [...bucketsOf([many], range)].map(({ timeBucket }) =>
      eventBucketsOf(many, timeBucket, steps),
    );
    equal(
      countPartitions(many, range.start, range.end, steps),
      each.reduce((sum, n) => sum + n, 0),
    );
    equal(eventBucketsMax([many], range, steps), Math.max(...each));
  }
});

test("a step of an id that begins behind the interval does not count for it", () => {
  const [slice] = slices;
  ok(slice !== undefined);
  const range = { start: slice.start, end: slice.start + SECOND };
  const step = (from: number) => [{ from, factor: 4 }];
  const { eventBuckets } = slice.timePartition;
  equal(eventBucketsMax([slice], range, step(range.end - 1)), 4 * eventBuckets);
  equal(eventBucketsMax([slice], range, step(range.end)), eventBuckets);
  // Slices that only touch the interval do not count either.
  const many = { ...slice, timePartition: { ...slice.timePartition, eventBuckets: 8 } };
  const outside = [
    { start: slice.end, end: slice.end + SECOND },
    { start: slice.start - SECOND, end: slice.start },
  ];
  for (const each of outside) equal(eventBucketsMax([many], each, undefined), 1);
  equal(eventBucketsMax([many], range, undefined), 8);
});

function first(buckets: Iterable<BucketRange>): BucketRange {
  const [bucket] = [...buckets];
  ok(bucket !== undefined);
  return bucket;
}

function slice(name: string, start: number, end: number, bucket: number): TimeSlice {
  return {
    name,
    start: start * SECOND,
    end: end * SECOND,
    timePartition: {
      secondsPerTimeSlice: end - start,
      secondsPerTimeBucket: bucket,
      eventBuckets: 1,
    },
    state: "OPEN",
  };
}
