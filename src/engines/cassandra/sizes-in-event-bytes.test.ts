import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { SizeHistogram } from "../../model/size-histogram.ts";
import type { SizeReport } from "../../ports/partition-sizes.ts";
import { inEventBytes } from "./sizes-in-event-bytes.ts";

const SLICE = { namespaceId: "plays-1", slice: "data_20260328" };
const never = new AbortController().signal;

/** Ten partitions of 1,000 bytes of rows. */
function report(): SizeReport {
  const histogram = new SizeHistogram();
  histogram.add(1_000, 10);
  return {
    kind: "sizes",
    source: "JMX",
    count: 10,
    meanBytes: 1_000,
    maxBytes: 1_000,
    histogram,
    coverage: "all",
    tells: "sizes",
    doesNotTell: "little",
    asOf: 0,
  };
}

async function converted(written: number | undefined): Promise<SizeReport> {
  const source = { source: "JMX" as const, sizesOf: () => Promise.resolve(report()) };
  const found = await inEventBytes(source, () =>
    written === undefined
      ? Promise.reject(new Error("no counts"))
      : Promise.resolve({ bytes: written, events: 1 }),
  ).sizesOf(SLICE, never);
  if (found.kind === "none") throw new Error("there are sizes");
  return found;
}

test("sizes of rows become sizes of events, by the bytes of events that were written", async () => {
  const { count, meanBytes, maxBytes, histogram, tells } = await converted(13_000);
  deepEqual([count, meanBytes, maxBytes], [10, 1_300, 1_300]);
  deepEqual([histogram?.count, histogram?.maxBytes], [10, 1_300]);
  equal(histogram?.percentile(0.5), 1_300);
  match(tells, /bytes of events: 30 % more/);
});

test("without counts, or where files hold more than was written, sizes stay as they are", async () => {
  for (const written of [undefined, 0, 9_000, 10_050]) {
    deepEqual(await converted(written), report());
  }
});

test("events that were written often or are not flushed yet do not make sizes absurd", async () => {
  equal((await converted(1e9)).maxBytes, 3_000);
});
