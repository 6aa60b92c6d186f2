import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture } from "../../tests/support/control-fixture.ts";
import { SizeHistogram } from "../model/size-histogram.ts";
import { exclusionsOf, percentilesOf } from "../model/slice-histogram.ts";
import type { SliceHistogram } from "../model/slice-histogram.ts";
import {
  readHistogram,
  readHistograms,
  trimHistograms,
  writeHistogram,
} from "./histogram-records.ts";

const DAY = 86_400_000_000;

function histogramOf(timeSlice: string, nth: number, asOf = 5): SliceHistogram {
  const sizes = new SizeHistogram();
  sizes.add(100 + nth, 3);
  sizes.add(5_000_000);
  const distribution = sizes.distribution();
  const unit = { bytes: distribution, events: distribution };
  return {
    timeSlice,
    start: nth * DAY,
    end: (nth + 1) * DAY,
    timePartition: { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 3_600, eventBuckets: 1 },
    source: "WALK",
    asOf,
    endedAt: asOf + 1,
    sealed: true,
    epoch: 0,
    complete: true,
    sampleShare: 1,
    omissions: { notCounted: 0, estimated: 0, failed: 0 },
    partitions: unit,
    timeBuckets: unit,
    widened: [{ secondsPerTimeBucket: 86_400, bytes: distribution }],
  };
}

test("a histogram comes back as it was stored, by itself and in the order of the slices", async () => {
  const { catalog } = new ControlFixture();
  const written = Array.from({ length: 60 }, (_, nth) =>
    histogramOf(`data_2026${String(nth + 100)}`, nth),
  );
  for (const histogram of written.toReversed()) await writeHistogram(catalog, "plays-1", histogram);
  deepEqual(await readHistogram(catalog, "plays-1", "data_2026100"), written[0]);
  equal(await readHistogram(catalog, "plays-1", "data_2026099"), undefined);
  deepEqual(await readHistograms(catalog, "plays-1"), written);
  deepEqual(await readHistograms(catalog, "plays-2"), []);
});

test("an older walk does not replace a newer one", async () => {
  const { catalog } = new ControlFixture();
  await writeHistogram(catalog, "plays-1", histogramOf("data_20260101", 0, 9));
  await writeHistogram(catalog, "plays-1", histogramOf("data_20260101", 0, 7));
  equal((await readHistogram(catalog, "plays-1", "data_20260101"))?.asOf, 9);
  await writeHistogram(catalog, "plays-1", histogramOf("data_20260101", 0, 11));
  equal((await readHistogram(catalog, "plays-1", "data_20260101"))?.asOf, 11);
});

test("a walk that a clock far ahead stamped is replaced by the next one", async () => {
  const { catalog } = new ControlFixture();
  await writeHistogram(catalog, "ns", { ...histogramOf("data_1", 1, 30 * DAY), sealed: false });
  await writeHistogram(catalog, "ns", histogramOf("data_1", 2, DAY));
  const stored = await readHistogram(catalog, "ns", "data_1");
  deepEqual([stored?.sealed, stored?.asOf], [true, DAY]);
});

test("a record of a newer format is neither overwritten nor in the way of the others", async () => {
  const { catalog } = new ControlFixture();
  await catalog.write("histograms/plays-1", "data_20260101", '{"format":99}', 0);
  await writeHistogram(catalog, "plays-1", histogramOf("data_20260102", 1));
  await rejects(writeHistogram(catalog, "plays-1", histogramOf("data_20260101", 0)));
  const skipped: string[] = [];
  const read = await readHistograms(catalog, "plays-1", ({ key }) => skipped.push(key));
  deepEqual(
    [read.map(({ timeSlice }) => timeSlice), skipped],
    [["data_20260102"], ["data_20260101"]],
  );
});

test("the oldest histograms above the limit are removed", async () => {
  const { catalog } = new ControlFixture();
  for (const [nth, name] of ["data_20260101", "data_20260102_0000", "data_20260103"].entries()) {
    await writeHistogram(catalog, "plays-1", histogramOf(name, nth));
  }
  deepEqual(await trimHistograms(catalog, "plays-1", 2), ["data_20260101"]);
  deepEqual(await trimHistograms(catalog, "plays-1", 2), []);
  const left = await readHistograms(catalog, "plays-1");
  deepEqual(
    left.map(({ timeSlice }) => timeSlice),
    ["data_20260102_0000", "data_20260103"],
  );
});

test("percentiles of a stored histogram are those of the histogram, and limits are exact", () => {
  const { partitions } = histogramOf("data_20260101", 1);
  deepEqual(percentilesOf(partitions.bytes), {
    min: 101,
    p50: 103,
    p75: 103,
    p95: 5_000_000,
    p98: 5_000_000,
    p99: 5_000_000,
    max: 5_000_000,
  });
});

test("what a walk leaves out is said in words", () => {
  const whole = histogramOf("data_20260101", 1);
  deepEqual(exclusionsOf(whole), []);
  const omissions = { notCounted: 90, estimated: 2, failed: 1 };
  const partial = { ...whole, sealed: false, complete: false, sampleShare: 0.1, omissions };
  deepEqual(exclusionsOf(partial), [
    "events written after the walk passed: the slice still takes events",
    "partitions behind the point where the walk reached its time limit",
    "90 partitions that a sample of 10 % of the ids stands for",
    "the exact size of 2 partitions counted in part",
    "1 partitions that could not be read",
  ]);
});

test("a slice that was re-opened after a walk found it sealed stays marked", async () => {
  const { catalog } = new ControlFixture();
  const stored = async (histogram: SliceHistogram): Promise<boolean | undefined> => {
    await writeHistogram(catalog, "n", histogram);
    return (await readHistogram(catalog, "n", "data_20260328"))?.filledLater;
  };
  const first = histogramOf("data_20260328", 1);
  equal(await stored({ ...first, sealed: false }), undefined);
  equal(await stored({ ...first, asOf: 6, epoch: 1 }), undefined);
  equal(await stored({ ...first, asOf: 7, epoch: 1 }), undefined);
  equal(await stored({ ...first, asOf: 8, epoch: 2, sealed: false }), true);
  equal(await stored({ ...first, asOf: 9, epoch: 2 }), true);
});
