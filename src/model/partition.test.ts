import { equal } from "node:assert/strict";
import { test } from "node:test";
import { joinedSlices } from "../../tests/support/static-view.ts";
import { EVENT_BUCKETS_MAX, eventBucketsOf } from "./partition.ts";
import type { TimeSlice } from "./time-slice.ts";

const START = 1_790_000_000_000_000;

function sliceWith(eventBuckets: number): TimeSlice {
  const strategy = { secondsPerTimeSlice: 100, secondsPerTimeBucket: 10, eventBuckets };
  const [slice] = joinedSlices(START, [strategy]);
  if (slice === undefined) throw new Error("there is a slice");
  return slice;
}

test("an id has its slice's event buckets, times its step from the step's bucket on", () => {
  const slice = sliceWith(3);
  const steps = [
    { from: START + 20_000_000, factor: 2 },
    { from: START + 50_000_000, factor: 8 },
  ];
  const counts = [0, 1, 2, 4, 5, 9].map((bucket) => eventBucketsOf(slice, bucket, steps));
  equal(counts.join(), "3,3,6,6,24,24");
  equal(eventBucketsOf(slice, 9, undefined), 3);
});

test("a factor does not multiply a slice's own buckets beyond what a read can ask", () => {
  const steps = [{ from: START, factor: 512 }];
  for (const eventBuckets of [1, 3, 64, 1_000, 1_024]) {
    const count = eventBucketsOf(sliceWith(eventBuckets), 0, steps);
    equal(count <= EVENT_BUCKETS_MAX, true);
    equal(count % eventBuckets, 0);
  }
});

test("C15: other event buckets for all ids do not multiply into an id that has many already", () => {
  const steps = [{ from: START, factor: 16 }];
  const bucketsIn = (eventBuckets: number, factorBase: number): number =>
    eventBucketsOf({ ...sliceWith(eventBuckets), factorBase }, 0, steps);
  // 1 became 8, and 8 became 1: the id keeps its 16 and its 128.
  equal(bucketsIn(8, 1), 16);
  equal(bucketsIn(1, 8), 128);
  // Never fewer than every id has, and a multiple of that.
  equal(bucketsIn(64, 1), 64);
  equal(bucketsIn(12, 1), 24);
  equal(bucketsIn(1_000, 1), 1_000);
  const without = { ...sliceWith(8), factorBase: 1 };
  equal(eventBucketsOf(without, 0, undefined), 8);
  equal(eventBucketsOf(without, 0, [{ from: START + 90_000_000, factor: 2 }]), 8);
});
