import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { SECOND_MICROS } from "./namespace-config.ts";
import type { TimePartition } from "./namespace-config.ts";
import {
  commonWidthSeconds,
  planSlices,
  sliceName,
  statusOf,
  writableFrom,
} from "./plan-slices.ts";
import type { TimeSlice } from "./time-slice.ts";

const DAY = 86_400;
const NOON = Date.UTC(2026, 2, 28, 12) * 1000;

function strategy(secondsPerTimeSlice: number, eventBuckets = 1): TimePartition {
  return { secondsPerTimeSlice, secondsPerTimeBucket: secondsPerTimeSlice, eventBuckets };
}

function seconds(count: number): number {
  return count * SECOND_MICROS;
}

function around(now: number, back: number, ahead: number): { from: number; to: number } {
  return { from: now - seconds(back), to: now + seconds(ahead) };
}

/** What must hold for all slices that a namespace ever had. */
function checkRow(slices: readonly TimeSlice[]): void {
  const sorted = slices.toSorted((a, b) => a.start - b.start);
  equal(new Set(sorted.map(({ name }) => name)).size, sorted.length, "names are unique");
  for (const [i, slice] of sorted.entries()) {
    const width = seconds(slice.timePartition.secondsPerTimeSlice);
    equal(slice.end - slice.start, width, "as long as its width");
    equal(slice.start % width, 0, "aligned to its width");
    const next = sorted[i + 1];
    if (next !== undefined) equal(slice.end, next.start, "no gap and no overlap");
  }
}

function checkCovers(slices: readonly TimeSlice[], window: { from: number; to: number }): void {
  ok(Math.min(...slices.map(({ start }) => start)) <= window.from, "covers the beginning");
  ok(Math.max(...slices.map(({ end }) => end)) >= window.to, "covers the end");
}

test("names contain as much of the start as the width needs", () => {
  const start = Date.UTC(2026, 2, 28, 14, 30, 15) * 1000;
  equal(sliceName(start, DAY), "data_20260328");
  equal(sliceName(start, 7 * DAY), "data_20260328");
  equal(sliceName(start, 3_600), "data_20260328_1430");
  equal(sliceName(start, 60), "data_20260328_1430");
  equal(sliceName(start, 15), "data_20260328_143015");
});

test("the first slices cover the window on their grid", () => {
  const made = planSlices([], around(NOON, 600, DAY + 60), strategy(DAY));
  deepEqual(
    made.map(({ name }) => name),
    ["data_20260328", "data_20260329"],
  );
});

test("covered time gets no second slice", () => {
  const window = around(NOON, 600, DAY);
  deepEqual(planSlices(planSlices([], window, strategy(DAY)), window, strategy(DAY)), []);
});

test("T10: a new width begins where slices of both widths begin", () => {
  const hours = planSlices([], around(NOON, 0, 3_600), strategy(3_600));
  const more = planSlices(hours, around(NOON, 0, 2 * DAY), strategy(DAY));
  checkRow([...hours, ...more]);
  // Two hours exist, ten more reach midnight, then come days.
  equal(more.filter(({ timePartition }) => timePartition.secondsPerTimeSlice === 3_600).length, 11);
  deepEqual(
    more.slice(-2).map(({ name }) => name),
    ["data_20260329", "data_20260330"],
  );
});

test("other buckets of the same width begin with the next slice", () => {
  const now = planSlices([], around(NOON, 0, 60), strategy(DAY, 1));
  const next = planSlices(now, around(NOON, 0, DAY), strategy(DAY, 8));
  deepEqual(
    next.map(({ name, timePartition }) => [name, timePartition.eventBuckets]),
    [["data_20260329", 8]],
  );
});

test("a higher acceptLimit adds older slices, each next to an existing one", () => {
  const now = planSlices([], around(NOON, 0, 60), strategy(DAY));
  const behind = planSlices(now, around(NOON, 3 * DAY, 60), strategy(DAY));
  deepEqual(
    behind.map(({ name }) => name),
    ["data_20260327", "data_20260326", "data_20260325"],
  );
});

test("E8: dropped time never gets a slice again", () => {
  const [old, ...rest] = planSlices([], around(NOON, 3 * DAY, 60), strategy(DAY));
  ok(old !== undefined);
  const slices: TimeSlice[] = [{ ...old, state: "DROPPED" }, ...rest];
  deepEqual(planSlices(slices, around(NOON, 9 * DAY, 60), strategy(DAY)), []);
  equal(writableFrom(slices), old.end);
  // Also when all slices were dropped and their time is still requested.
  deepEqual(
    planSlices([{ ...old, state: "DROPPED" }], { from: old.start, to: old.end }, strategy(DAY)),
    [],
  );
});

test("a namespace without new slices for a while catches up without a gap", () => {
  const old = planSlices([], around(NOON, 0, 60), strategy(3_600));
  const later = around(NOON + seconds(30 * DAY), 600, 3_600);
  const made = planSlices(old, later, strategy(3_600));
  checkRow([...old, ...made]);
  checkCovers([...old, ...made], later);
});

test("when catching up takes too many slices, the row restarts at the window and the gap counts as dropped", () => {
  const old = planSlices([], around(NOON, 0, 1), strategy(1));
  const later = around(NOON + seconds(DAY), 10, 2);
  const made = planSlices(old, later, strategy(1));
  checkRow(made);
  checkCovers(made, later);
  equal(made.length, 12);
  const all = [...old, ...made];
  equal(writableFrom(all), made[0]?.start);
  deepEqual(planSlices(all, { from: NOON, to: later.to }, strategy(1)), []);
});

test("more slices at once than a namespace may have are refused", () => {
  throws(() => planSlices([], around(NOON, DAY, 1), strategy(1)), { code: "CONFIG_INVALID" });
});

test("no slice is made before 1970", () => {
  equal(planSlices([], { from: -seconds(5 * DAY), to: 1 }, strategy(DAY))[0]?.start, 0);
});

test("statuses follow from the state, the floor and the time", () => {
  const [today, tomorrow] = planSlices([], around(NOON, 0, DAY), strategy(DAY));
  ok(today !== undefined && tomorrow !== undefined);
  const floor = { floor: NOON - seconds(600) };
  equal(statusOf(today, floor, NOON), "ACTIVE");
  equal(statusOf(tomorrow, floor, NOON), "UPCOMING");
  equal(statusOf(today, { floor: today.end }, NOON), "SEALED");
  equal(statusOf(today, { floor: today.end - 1 }, NOON + seconds(DAY)), "ACTIVE");
  equal(statusOf({ ...today, state: "CLOSED" }, floor, NOON), "CLOSED");
  equal(statusOf({ ...today, state: "DROPPED" }, floor, NOON), "DROPPED");
});

test("the common width is the least common multiple", () => {
  equal(commonWidthSeconds(strategy(4), strategy(6)), 12);
  equal(commonWidthSeconds(strategy(DAY), strategy(3_600)), DAY);
});

test("T5: whatever changes, slices stay frozen, aligned and without gap or overlap", () => {
  const width = fc.constantFrom(60, 90, 600, 1_800, 3_600, 5_400, 7_200);
  const step = fc.record({
    passes: fc.integer({ min: 0, max: 20_000 }),
    back: fc.integer({ min: 0, max: 20_000 }),
    ahead: fc.integer({ min: 1, max: 8_000 }),
    width,
    eventBuckets: fc.integer({ min: 1, max: 4 }),
    drops: fc.nat(2),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
      let now = NOON;
      let slices: TimeSlice[] = [];
      for (const { passes, back, ahead, width: wanted, eventBuckets, drops } of steps) {
        now += seconds(passes);
        const window = around(now, back, ahead);
        const made = planSlices(slices, window, strategy(wanted, eventBuckets));
        const droppedUntil = Math.max(
          0,
          ...slices.filter(({ state }) => state === "DROPPED").map(({ end }) => end),
        );
        for (const slice of made) {
          ok(slice.start >= droppedUntil, "dropped time gets no slice again");
          const touches = slices.some(
            (other) => other.end === slice.start || other.start === slice.end,
          );
          ok(touches || slices.length === 0, "stopping here would leave no gap");
          slices.push(slice);
        }
        checkRow(slices);
        checkCovers(slices, { from: Math.max(window.from, droppedUntil), to: window.to });
        equal(planSlices(slices, window, strategy(wanted, eventBuckets)).length, 0);
        slices.sort((a, b) => a.start - b.start);
        const left = slices.filter(({ state }) => state !== "DROPPED").slice(0, drops);
        slices = slices.map((slice) =>
          left.includes(slice) ? { ...slice, state: "DROPPED" } : slice,
        );
      }
    }),
    { numRuns: 200 },
  );
});

test("C15: slices with other event buckets keep the number that ids' factors multiply", () => {
  const first = planSlices([], around(NOON, 0, DAY), strategy(DAY, 1));
  const second = planSlices(first, around(NOON, 0, 3 * DAY), strategy(DAY, 8));
  const third = planSlices([...first, ...second], around(NOON, 0, 5 * DAY), strategy(DAY, 1));
  deepEqual(
    [...first, ...second, ...third].map(({ factorBase }) => factorBase),
    [undefined, undefined, 1, 1, undefined, undefined],
  );
  const fourth = planSlices([...first, ...second], around(NOON, 0, 5 * DAY), strategy(DAY, 4));
  deepEqual(
    fourth.map(({ factorBase }) => factorBase),
    [1, 1],
  );
});

test("slices that became shorter before a long downtime restart at the window too", () => {
  const days = planSlices([], around(NOON, 0, DAY), strategy(DAY));
  const later = NOON + seconds(9 * DAY);
  const made = planSlices(days, around(later, 3_600, 60), strategy(60));
  ok(made.length < 100);
  ok(made.some(({ start, end }) => start <= later && later < end));
});
