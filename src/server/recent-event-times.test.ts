import { equal } from "node:assert/strict";
import { test } from "node:test";
import { RecentEventTimes } from "./recent-event-times.ts";

test("C25: the newest 1,000 event times have a median, fewer have none", () => {
  const times = new RecentEventTimes();
  for (let time = 0; time < 999; time++) times.note(time);
  equal(times.median(), undefined);
  times.note(999);
  equal(times.median(), 500);
  for (let time = 0; time < 1_000; time++) times.note(5_000);
  equal(times.median(), 5_000);
});
