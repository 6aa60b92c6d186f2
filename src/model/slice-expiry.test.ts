import { equal } from "node:assert/strict";
import { test } from "node:test";
import { sliceExpiry } from "./slice-expiry.ts";

const HOUR = 3_600_000_000;
const retention = { closeAfterMicros: 100 * HOUR, deleteAfterMicros: 200 * HOUR };

test("a slice that is closed within an hour expires soon", () => {
  const slice = { end: 24 * HOUR };
  equal(sliceExpiry(slice, retention, 123 * HOUR - 1).soon, false);
  equal(sliceExpiry(slice, retention, 123 * HOUR).soon, true);
  equal(sliceExpiry(slice, retention, 125 * HOUR).leftMicros, -HOUR);
});

test("for slices with a shorter life, a tenth of it is soon", () => {
  const shortly = { closeAfterMicros: 5 * HOUR, deleteAfterMicros: 6 * HOUR };
  const expiry = sliceExpiry({ end: 0 }, shortly, 4.4 * HOUR);
  equal(expiry.soonMicros, HOUR / 2);
  equal(expiry.soon, false);
  equal(sliceExpiry({ end: 0 }, shortly, 4.5 * HOUR).soon, true);
});
