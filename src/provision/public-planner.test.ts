import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { publicPlan } from "./public-planner.ts";

const HOUR = 3_600;
const DAY = 86_400;

test("the public planner's two published vectors", () => {
  deepEqual(
    publicPlan({
      readIntervalSeconds: 10 * HOUR,
      retentionSeconds: 8_640 * HOUR,
      eventsPerDayPerId: 10,
      eventBytes: 10_000,
    }),
    {
      secondsPerTimeSlice: 180 * DAY,
      secondsPerTimeBucket: 36_000,
      eventBuckets: 1,
      secondsPerEventBucket: 36_000,
      readAmplification: 1,
    },
  );
  deepEqual(
    publicPlan({
      readIntervalSeconds: 24 * HOUR,
      retentionSeconds: 96 * HOUR,
      eventsPerDayPerId: 1_000,
      eventBytes: 20_000,
    }),
    {
      secondsPerTimeSlice: DAY,
      secondsPerTimeBucket: DAY,
      eventBuckets: 5,
      secondsPerEventBucket: 5,
      readAmplification: 5,
    },
  );
});

test("event buckets follow the mean density and end at 8", () => {
  const bucketsFor = (eventsPerDayPerId: number): number | undefined =>
    publicPlan({
      readIntervalSeconds: DAY,
      retentionSeconds: 30 * DAY,
      eventsPerDayPerId,
      eventBytes: 1_024,
    })?.eventBuckets;
  deepEqual([10, 1_000, 10_000, 100_000, 10_000_000].map(bucketsFor), [1, 1, 2, 8, 8]);
});

test("slice widths follow the retention; below six hours there is none", () => {
  const sliceDays = (days: number): number | undefined => {
    const plan = publicPlan({
      readIntervalSeconds: HOUR,
      retentionSeconds: days * DAY,
      eventsPerDayPerId: 1,
      eventBytes: 1,
    });
    return plan && plan.secondsPerTimeSlice / DAY;
  };
  deepEqual([1, 7, 14, 30, 90, 180, 365, 366].map(sliceDays), [1 / 6, 1, 7, 14, 30, 90, 180, 365]);
  equal(sliceDays(0.2), undefined);
});
