import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { timedNow, verdictOf } from "./routes-now.ts";

function historyOf(series: Readonly<Record<string, readonly (number | null)[]>>) {
  return {
    stepMs: 1_000,
    values: (name: string, factor = 1) =>
      (series[name] ?? []).map((value) => (value === null ? null : value * factor)),
  };
}

test("a route has the mean of its p50 and the largest of the rest, of the last minute, in ms", () => {
  const old = Array.from({ length: 10 }, () => 9);
  const minute = Array.from({ length: 58 }, () => null);
  const rows = timedNow(
    historyOf({
      "reads.split": [...old, ...minute, 2, 4],
      "read_latency.split.p50": [...old, ...minute, 0.002, 0.004],
      "read_latency.split.p99": [...old, ...minute, 0.032, 0.016],
    }),
  );
  const split = rows.find(({ label }) => label === "Split");
  deepEqual([split?.perSecond, split?.p50, split?.p99, split?.max], [3, 3, 32, undefined]);
});

test("timeouts come first, then wide originals that are the slowest, then all is well", () => {
  const quick = historyOf({ "read_latency.original.p99": [0.001] });
  const slow = historyOf({
    "read_latency.original.p99": [0.001],
    "read_latency.wide_original.p99": [0.5],
  });
  equal(verdictOf(timedNow(slow), 0.1).tone, "bad");
  deepEqual(verdictOf(timedNow(slow), 0).tone, "warn");
  match(verdictOf(timedNow(slow), 0).sentence, /p99 500 ms: their splits shorten it/);
  equal(verdictOf(timedNow(quick), 0).tone, "ok");
  match(verdictOf(timedNow(quick), 0).sentence, /p99 1 ms/);
  equal(verdictOf(timedNow(historyOf({})), 0).sentence, "Nothing was read in the last minute.");
});
