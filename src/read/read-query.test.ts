import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { utf8 } from "../lib/bytes.ts";
import { Problems } from "../lib/problems.ts";
import { CONTRACT_EVENT_LIMITS } from "../wire/event-limits.ts";
import { DEFAULT_READ_LIMITS } from "./read-limits.ts";
import { checkQuery } from "./read-query.ts";
import type { ReadQuery } from "./read-query.ts";

const QUERY: ReadQuery = {
  namespace: "plays",
  seriesId: "s",
  start: 1,
  end: 2,
  filters: [],
  order: "NEWEST_FIRST",
  pageSize: 0,
  totalLimit: 0,
  pageToken: "",
  allowPartial: false,
};
const { pageEventsMax, filtersMax } = DEFAULT_READ_LIMITS;
const { seriesIdBytesMax } = CONTRACT_EVENT_LIMITS;
const FILTER = { key: utf8("k"), value: utf8("") };

function problemsOf(change: Partial<ReadQuery>): readonly string[] {
  const problems = new Problems();
  checkQuery({ ...QUERY, ...change }, DEFAULT_READ_LIMITS, problems);
  return problems.list();
}

test("a query may be as large as its limits", () => {
  const largest: Partial<ReadQuery>[] = [
    {},
    { pageSize: pageEventsMax },
    { seriesId: "é".repeat(seriesIdBytesMax / 2) },
    { filters: Array.from({ length: filtersMax }, () => FILTER) },
    { start: 1, end: 2 },
  ];
  for (const change of largest) deepEqual(problemsOf(change), []);
});

test("Z22: a query beyond any limit is refused, with the field and the limit", () => {
  const table: [Partial<ReadQuery>, string][] = [
    [{ namespace: "" }, "namespace is missing"],
    [{ seriesId: "" }, "timeSeriesId is missing"],
    [
      { seriesId: "x".repeat(seriesIdBytesMax + 1) },
      `timeSeriesId has ${seriesIdBytesMax + 1} bytes, the limit is ${seriesIdBytesMax}`,
    ],
    [{ start: 2, end: 2 }, "timeInterval.start must be before timeInterval.end"],
    [
      { pageSize: pageEventsMax + 1 },
      `pageSize is ${pageEventsMax + 1}, the limit is ${pageEventsMax}`,
    ],
    [
      { filters: Array.from({ length: filtersMax + 1 }, () => FILTER) },
      `there are ${filtersMax + 1} eventFilters, the limit is ${filtersMax}`,
    ],
    [
      { filters: [FILTER, { ...FILTER, key: utf8("") }] },
      "eventFilters[1].matchEventItemKey is missing",
    ],
  ];
  for (const [change, problem] of table) deepEqual(problemsOf(change), [problem]);
});
