import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import type { TimeSlice } from "../model/time-slice.ts";
import { dueWalks } from "./due-walks.ts";
import type { LastWalk } from "./due-walks.ts";

const DAY = 86_400_000_000;
const HOUR = DAY / 24;
const TIMES = {
  now: 10.5 * DAY,
  settledFloor: 10 * DAY,
  currentEvery: HOUR,
  retryAfter: HOUR,
  keptMax: 400,
};

function slice(day: number, state: TimeSlice["state"] = "OPEN"): TimeSlice {
  const timePartition = {
    secondsPerTimeSlice: 86_400,
    secondsPerTimeBucket: 3_600,
    eventBuckets: 1,
  };
  return { name: `day${day}`, start: day * DAY, end: (day + 1) * DAY, timePartition, state };
}

function due(
  slices: readonly TimeSlice[],
  last: Readonly<Record<string, LastWalk>> = {},
  times = TIMES,
): string[] {
  const walks = dueWalks({ epochStarts: [REOPENED] }, slices, ({ name }) => last[name], times);
  return walks.map((walk) => `${walk.slice.name} ${walk.sealed ? "sealed" : "current"}`);
}

/** Epoch 2 opened time again, from the middle of day 9 on. */
const REOPENED = { epoch: 2, floor: 9.5 * DAY };
const SEALED: LastWalk = {
  asOf: 10.1 * DAY,
  endedAt: 10.2 * DAY,
  sealed: true,
  epoch: 2,
  complete: true,
};

test("settled slices come first, the newest of them first; the future and dropped ones never", () => {
  const slices = [slice(7, "DROPPED"), slice(8, "CLOSED"), slice(9), slice(10), slice(11)];
  deepEqual(due([...slices, slice(6, "DROPPING")]), [
    "day9 sealed",
    "day8 sealed",
    "day10 current",
  ]);
});

test("a settled slice is walked once, and again if a re-opening or its time limit came in between", () => {
  deepEqual(due([slice(9)], { day9: SEALED }), []);
  deepEqual(due([slice(9)], { day9: { ...SEALED, sealed: false } }), ["day9 sealed"]);
  deepEqual(due([slice(9)], { day9: { ...SEALED, epoch: 1 } }), ["day9 sealed"]);
  deepEqual(due([slice(8)], { day8: { ...SEALED, epoch: 1 } }), [], "day 8 was not opened");
  deepEqual(due([slice(9)], { day9: { ...SEALED, complete: false } }), ["day9 sealed"]);
  const recent = { ...SEALED, complete: false, endedAt: TIMES.now - HOUR / 2 };
  deepEqual(due([slice(9)], { day9: recent }), []);
});

test("a slice that takes events is walked now and then", () => {
  const walked = (ago: number): LastWalk => ({ ...SEALED, sealed: false, asOf: TIMES.now - ago });
  deepEqual(due([slice(10)], { day10: walked(HOUR / 2) }), []);
  deepEqual(due([slice(10)], { day10: walked(HOUR) }), ["day10 current"]);
  // The clock went back by a day.
  deepEqual(due([slice(10)], { day10: walked(-DAY) }), ["day10 current"]);
});

test("of many slices only the newest are walked: histograms of older ones are not kept", () => {
  const slices = [slice(7), slice(8), slice(9), slice(10), slice(11)];
  deepEqual(due(slices, {}, { ...TIMES, keptMax: 2 }), ["day9 sealed", "day10 current"]);
});
