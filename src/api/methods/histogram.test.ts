import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { SizeHistogram } from "../../model/size-histogram.ts";
import type { SizeReport } from "../../ports/partition-sizes.ts";
import type { SliceSizeAnswer } from "../../namespaces/slice-sizes.ts";
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

async function answered(answer: SliceSizeAnswer): Promise<Record<string, unknown>> {
  const [method] = histogramMethods({ of: () => Promise.resolve(answer) });
  const value = { namespace: "plays", timeSlice: "data_20261115" };
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
    p50: "3",
    p99: "5",
    max: "5",
    source: "JMX",
    timeSlice: "data_20261115",
    mean: "4",
    asOf: "2026-11-15T00:00:00Z",
    coverage: "all of it",
    tells: "much",
    doesNotTell: "little",
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
