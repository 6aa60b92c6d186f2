import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { rateLevels } from "./bursts.ts";

test("the levels of any bucket share out all time and all events", () => {
  fc.assert(
    fc.property(
      fc.double({ min: 1, max: 1_000, noNaN: true }),
      fc.integer({ min: 1, max: 1_000_000 }),
      (burstiness, width) => {
        const levels = rateLevels(burstiness, width);
        const time = levels.reduce((sum, level) => sum + level.timeShare, 0);
        const events = levels.reduce((sum, level) => sum + level.timeShare * level.factor, 0);
        ok(Math.abs(time - 1) < 1e-9 && Math.abs(events - 1) < 1e-9, `${time} ${events}`);
        for (const { factor } of levels) ok(factor >= 0 && factor <= burstiness + 1e-9);
      },
    ),
  );
});

test("a bucket of an hour sees the whole burst, one of a day nothing of it", () => {
  deepEqual(rateLevels(12, 86_400), [{ timeShare: 1, factor: 1 }]);
  const [busy, quiet] = rateLevels(12, 3_600);
  deepEqual(busy, { timeShare: 1 / 24, factor: 12 });
  ok(quiet !== undefined && Math.abs(quiet.factor - 12 / 23) < 1e-9);
});
