import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { commandOf, ESTIMATES, numberIn, sliderOf, valueAt, workloadOf } from "./workload.ts";

const FIELDS = {
  values: { ids: 1_000, eventsPerDay: 10, eventBytes: 512, readsPerSecond: 5, readHours: 24 },
  uncertainty: 2,
  skew: "ZIPF",
  retentionDays: 30,
  seed: 1,
} as const;

test("an uncertain number is an estimate, a certain one is not", () => {
  deepEqual(workloadOf(FIELDS).ids, { low: 500, mid: 1_000, high: 2_000 });
  deepEqual(workloadOf({ ...FIELDS, uncertainty: 1 }).ids, { mid: 1_000 });
  deepEqual(workloadOf(FIELDS).readIntervalSeconds, { low: 43_200, mid: 86_400, high: 172_800 });
});

test("the command has the same numbers", () => {
  equal(
    commandOf(FIELDS),
    "plan --ids 500,1000,2000 --events-per-day 5,10,20 --event-bytes 256,512,1024 " +
      "--reads-per-second 2.5,5,10 --read-interval 12h,24h,48h --skew ZIPF:1 --retention 30d --seed 1",
  );
});

test("a slider reaches both ends of its range", () => {
  for (const field of ESTIMATES) {
    equal(sliderOf(field.min, field), 0);
    equal(sliderOf(field.max, field), 100);
    equal(valueAt(0, field), field.min);
    equal(sliderOf(valueAt(50, field), field), 50);
  }
});

test("an address without a number has the fallback", () => {
  deepEqual(
    ["", "x", "-1", "7"].map((text) => numberIn(text, 5)),
    [5, 5, 5, 7],
  );
});
