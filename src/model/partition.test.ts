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
