import { equal } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatTime, parseTime } from "./time-text.ts";

test("a time is written so that it reads back the same, to the microsecond", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 9_000_000_000_000_000 }), (micros) => {
      equal(parseTime(formatTime(micros)), micros);
    }),
  );
});

test("fractions have no, three or six digits, as in proto3 JSON", () => {
  equal(formatTime(0), "1970-01-01T00:00:00Z");
  equal(formatTime(1_500_000), "1970-01-01T00:00:01.500Z");
  equal(formatTime(1_000_001), "1970-01-01T00:00:01.000001Z");
});

test("offsets and any number of digits are parsed; nanoseconds are too fine", () => {
  equal(parseTime("1970-01-01T01:00:00.1+01:00"), 100_000);
  equal(parseTime("1970-01-01T00:00:00.000001000Z"), 1);
  equal(parseTime("1970-01-01T00:00:00.0000001Z"), "too fine");
  for (const text of ["", "now", "1970-01-01", "1970-01-01T00:00:00", "1970-13-01T00:00:00Z"]) {
    equal(parseTime(text), undefined, text);
  }
  equal(parseTime("1970-01-01T25:00:00Z"), undefined);
  equal(parseTime("2026-02-30T00:00:00Z"), undefined);
});
