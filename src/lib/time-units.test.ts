import { equal } from "node:assert/strict";
import { test } from "node:test";
import { durationOfMs } from "./time-units.ts";
import type { Micros, Millis } from "./time-units.ts";

test("a duration is the same length in both units", () => {
  const duration = durationOfMs(1_500);
  equal(duration.ms, 1_500);
  equal(duration.micros, 1_500_000);
});

test("the compiler refuses microseconds where milliseconds are expected, and takes plain numbers", () => {
  const waits = (ms: Millis): number => ms;
  const eventTime = (micros: Micros): number => micros;
  const { ms, micros } = durationOfMs(10);
  // @ts-expect-error: microseconds are no milliseconds.
  waits(micros);
  // @ts-expect-error: milliseconds are no microseconds.
  eventTime(ms);
  equal(waits(ms) + waits(ms * 2) + eventTime(micros), 10_030);
});
