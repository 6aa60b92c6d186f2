import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { SizeHistogram } from "../../model/size-histogram.ts";
import type { SliceHistogram } from "../../model/slice-histogram.ts";
import type { SizeReport, SliceReports } from "../../ports/partition-sizes.ts";
import type { SliceSizeAnswer } from "../../sizes/slice-sizes.ts";
import { histogramMethods } from "./histogram.ts";

const never = new AbortController().signal;

function report(source: SizeReport["source"], histogram: SizeHistogram | undefined): SizeReport {
  return {
    kind: "sizes",
    source,
    count: histogram?.count ?? 128,
    meanBytes: histogram?.meanBytes ?? 1_000,
    maxBytes: histogram?.maxBytes ?? 1_048_576,
    histogram,
    coverage: "all of it",
    tells: "much",
    doesNotTell: "little",
    asOf: Date.UTC(2026, 10, 15) * 1000,
  };
}

const TARGET = { minBytes: 2_097_152, maxBytes: 10_485_760 };

async function answered(
  given: Omit<SliceSizeAnswer, "walk" | "target"> & { walk?: SliceHistogram },
  history: readonly SliceHistogram[] = [],
  unwalked: readonly SliceReports[] = [],
): Promise<Record<string, unknown>> {
  const answer = { walk: undefined, target: TARGET, ...given };
  const [method] = histogramMethods({
    of: () => Promise.resolve(answer),
    history: () => Promise.resolve(history),
    unwalked: () => Promise.resolve(unwalked),
  });
  const value = {
    namespace: "plays",
    timeSlice: "data_20261115",
    history: history.length + unwalked.length > 0,
  };
  const reply = await (await method?.fromJson(Buffer.from(JSON.stringify(value))))?.run(never);
  return JSON.parse(String(await reply?.json())) as Record<string, unknown>;
}

test("the best source answers in the contract's names, and the others are alternatives", async () => {
  const histogram = new SizeHistogram();
  histogram.add(3, 2);
  histogram.add(5);
  const none = { kind: "none", source: "TABLE_ESTIMATES", reason: "it is away" } as const;
  const answer = await answered({
    timeSlice: "data_20261115",
    best: report("JMX", histogram),
    others: [none],
  });
  const { alternatives, ...own } = answer;
  deepEqual(own, {
    count: "3",
    buckets: [
      { upToBytes: "3", partitions: "2" },
      { upToBytes: "4", partitions: "0" },
      { upToBytes: "5", partitions: "1" },
    ],
    min: "3",
    p50: "3",
    p75: "5",
    p95: "5",
    p98: "5",
    p99: "5",
    max: "5",
    source: "JMX",
    timeSlice: "data_20261115",
    mean: "4",
    asOf: "2026-11-15T00:00:00Z",
    coverage: "all of it",
    tells: "much",
    doesNotTell: "little",
    excludes: [],
    densityMinBytes: "2097152",
    densityMaxBytes: "10485760",
    history: [],
  });
  const [other] = alternatives as Record<string, unknown>[];
  equal(other?.["source"], "TABLE_ESTIMATES");
  equal(other?.["reason"], "it is away");
});

test("a source without percentiles leaves them out instead of returning 0", async () => {
  const best = report("TABLE_ESTIMATES", undefined);
  const answer = await answered({ timeSlice: "data_20261115", best, others: [] });
  equal(answer["count"], "128");
  deepEqual(answer["buckets"], []);
  equal("p50" in answer || "p99" in answer, false);
});

function walkOf(sizes: SizeHistogram): SliceHistogram {
  const unit = { bytes: sizes.distribution(), events: sizes.distribution() };
  return {
    timeSlice: "data_20261115",
    start: Date.UTC(2026, 10, 15) * 1000,
    end: Date.UTC(2026, 10, 16) * 1000,
    timePartition: { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 3_600, eventBuckets: 1 },
    source: "WALK",
    asOf: Date.UTC(2026, 10, 16, 1) * 1000,
    endedAt: Date.UTC(2026, 10, 16, 1) * 1000,
    sealed: true,
    epoch: 0,
    complete: false,
    sampleShare: 1,
    omissions: { notCounted: 0, estimated: 0, failed: 0 },
    partitions: unit,
    timeBuckets: unit,
    widened: [],
  };
}

test("a walk shows events per partition and what it leaves out; the past comes without buckets", async () => {
  const sizes = new SizeHistogram();
  sizes.add(100, 99);
  sizes.add(5_000);
  const walk = walkOf(sizes);
  const best = report("WALK", sizes);
  const answer = await answered({ timeSlice: walk.timeSlice, best, others: [], walk }, [walk]);
  deepEqual(answer["excludes"], [
    "partitions behind the point where the walk reached its time limit",
  ]);
  const events = answer["events"] as Record<string, unknown>;
  deepEqual([events["count"], events["p50"], events["max"]], ["100", "103", "5000"]);
  const [past] = answer["history"] as Record<string, Record<string, unknown>>[];
  equal(past?.["timeSlice"], "data_20261115");
  equal(past?.["sealed"], true);
  deepEqual(past?.["bytes"]?.["buckets"], []);
  equal(past?.["bytes"]?.["p99"], "103");
  const shown = answer["walk"] as { readonly bytes: { readonly buckets: readonly unknown[] } };
  equal(shown.bytes.buckets.length, 2);
});

test("the past of a slice that was not walked is what the storage said, with its source and limits", async () => {
  const sizes = new SizeHistogram();
  sizes.add(100, 99);
  const { start, end, timePartition } = walkOf(sizes);
  const slice = { start, end, timePartition };
  const best = report("READS", sizes);
  const answer = await answered(
    { timeSlice: "data_20261116", best, others: [] },
    [],
    [
      { ...slice, timeSlice: "data_20261114", reports: [report("JMX", sizes)] },
      { ...slice, timeSlice: "data_20261115", reports: [report("TABLE_ESTIMATES", undefined)] },
    ],
  );
  const [jmx, estimates] = answer["history"] as Record<string, unknown>[];
  deepEqual(
    [jmx?.["timeSlice"], jmx?.["source"], jmx?.["excludes"], "events" in (jmx ?? {})],
    ["data_20261114", "JMX", ["little", "events per partition"], false],
  );
  const shown = estimates?.["bytes"] as Record<string, unknown>;
  deepEqual([shown["count"], shown["total"], shown["p99"]], ["128", "128000", "0"]);
});
