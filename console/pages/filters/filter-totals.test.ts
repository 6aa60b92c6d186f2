import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { SliceFilter } from "../../../client/connect.ts";
import { errsTooOften, isStale, smallShareText, totalsOf, verdictOf } from "./filter-totals.ts";

const FILTER: SliceFilter = {
  namespace: "plays",
  timeSlice: "data_20261115",
  entries: "3",
  capacity: "64",
  bytes: "1024",
  checks: "200",
  hits: "3",
  falsePositives: "1",
  configuredRate: 0.01,
  expectedRate: 0.001,
  observedRate: 0.005,
  age: "0.5s",
  loadTime: "2026-11-15T10:00:00Z",
  openTime: "2026-11-15T10:00:00Z",
};

test("totals add what the slices have", () => {
  deepEqual(totalsOf([FILTER, FILTER]), { entries: 6, checks: 400, falsePositives: 2 });
});

test("a filter errs too often only beyond chance, and is stale beyond the age of a view", () => {
  equal(errsTooOften({ ...FILTER, observedRate: 0.5 }), false);
  equal(errsTooOften({ ...FILTER, falsePositives: "10", observedRate: 0.5 }), true);
  equal(isStale(FILTER, "10s"), false);
  equal(isStale({ ...FILTER, age: "11s" }, "10s"), true);
});

test("the sentence names stale filters first, then those that err, then what all did", () => {
  const of = (filter: SliceFilter) =>
    verdictOf({ filters: [filter], total: 1, totalBytes: "1024", viewMaxAge: "10s" });
  match(of({ ...FILTER, age: "11s" }).sentence, /^1 filter could not be brought up to date/);
  const erring = of({ ...FILTER, falsePositives: "100", observedRate: 0.5 });
  deepEqual([erring.tone, erring.sentence.slice(0, 17)], ["warn", "1 filter answered"]);
  equal(of(FILTER).sentence, "1 filter in 1 KiB answered 200 checks, 0.5 % of them wrong.");
  match(of({ ...FILTER, falsePositives: "0" }).sentence, /200 checks, none of them wrong/);
  equal(verdictOf({ filters: [], total: 0, totalBytes: "0", viewMaxAge: "10s" }).tone, "idle");
});

test("tiny shares are said to be below the smallest that matters", () => {
  equal(smallShareText(4e-20), "< 0.001 %");
  equal(smallShareText(0.002), "0.2 %");
  equal(smallShareText(0), "0 %");
});
