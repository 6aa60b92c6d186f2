import { equal } from "node:assert/strict";
import { test } from "node:test";
import { joinedSlices, staticView } from "../../tests/support/static-view.ts";
import { mayMissSlice } from "./may-miss-slice.ts";

const SECOND = 1_000_000;
const START = 1_790_000_000 * SECOND;
const SKEW = SECOND;
const FUTURE = 2 * SECOND;
/** Four slices of 10 seconds. */
const SLICES = joinedSlices(
  START,
  Array.from({ length: 4 }, () => {
    return { secondsPerTimeSlice: 10, secondsPerTimeBucket: 10, eventBuckets: 1 };
  }),
);
const EVER = { start: 0, end: START + 3_600 * SECOND };

function viewOf(nths: readonly number[], floorSeconds = 0) {
  return staticView({
    slices: SLICES.filter((_, nth) => nths.includes(nth)),
    floor: START + floorSeconds * SECOND,
    config: { futureLimitMicros: FUTURE },
  });
}

test("D30: a view that covers all writable time misses nothing", () => {
  const reach = START + 40 * SECOND - FUTURE - SKEW;
  equal(mayMissSlice(viewOf([0, 1, 2, 3]), EVER, reach - 1, SKEW), false);
  equal(mayMissSlice(viewOf([0, 1, 2, 3]), EVER, reach, SKEW), true);
});

test("D30: a missing slice between others is missed, above the floor and within the read's interval", () => {
  const now = START + 25 * SECOND;
  const view = viewOf([0, 2, 3]);
  equal(mayMissSlice(view, EVER, now, SKEW), true);
  equal(mayMissSlice(viewOf([0, 2, 3], 20), EVER, now, SKEW), false);
  const beside = { start: START + 20 * SECOND, end: EVER.end };
  equal(mayMissSlice(view, beside, now, SKEW), false);
  equal(mayMissSlice(view, { ...beside, start: beside.start - 1 }, now, SKEW), true);
  const before = { start: START, end: START + 10 * SECOND };
  equal(mayMissSlice(view, before, now, SKEW), false);
  equal(mayMissSlice(view, { ...before, end: before.end + 1 }, now, SKEW), true);
});

test("D30: a view without slices misses everything above the floor", () => {
  equal(mayMissSlice(viewOf([]), EVER, START, SKEW), true);
  equal(mayMissSlice(viewOf([], 60), EVER, START, SKEW), false);
});
