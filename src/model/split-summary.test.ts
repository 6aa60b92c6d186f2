import assert from "node:assert/strict";
import { test } from "node:test";
import { SizeHistogram } from "./size-histogram.ts";
import { NO_SPLITS, SplitSum } from "./split-summary.ts";
import type { Segment } from "./split.ts";

function segmentOf(bytes: number, changes: Partial<Segment> = {}): Segment {
  return {
    from: 0,
    to: 1,
    epoch: 0,
    state: "COMPLETED",
    generation: 0,
    layout: "PACKED",
    strategy: "EVENT_BUCKETS",
    why: "",
    partBytes: 10,
    partsPlanned: 0,
    partRanges: [{ start: 0, count: 2 }],
    copiedTo: 0,
    bytes,
    events: 1,
    checksum: "c",
    confirmedAt: 5,
    ...changes,
  };
}

function sizes(...bytes: number[]) {
  const histogram = new SizeHistogram();
  for (const each of bytes) histogram.add(each);
  return histogram.distribution();
}

test("a partition counts once with all its segments, and each part counts", () => {
  const sum = new SplitSum();
  const first = segmentOf(1_000, { partSizes: sizes(700, 300) });
  const second = segmentOf(500, { partSizes: sizes(400, 100), confirmedAt: null });
  sum.addRecord({ state: "COMPLETED", segments: [first, second] });
  const copying = segmentOf(9_999, { state: "SPLITTING", confirmedAt: null });
  sum.addRecord({ state: "SPLITTING", segments: [copying] });
  sum.addRecord({ state: "DETECTED", segments: [] });
  sum.addStorage(1_400);
  const { states, before, after, ...rest } = sum.summary();
  assert.deepEqual([states.get("COMPLETED"), states.get("SPLITTING")], [1, 1]);
  assert.deepEqual(states.get("FAILED"), 0);
  assert.deepEqual(before, sizes(1_500));
  assert.deepEqual(after, sizes(700, 300, 400, 100));
  assert.deepEqual(rest, {
    partsEstimated: 0,
    divertedBytes: 1_000,
    storageBytes: 1_400,
    unreadable: 0,
  });
});

test("parts whose sizes were not kept count as the mean of their segment, and are counted", () => {
  const sum = new SplitSum();
  sum.addRecord({ state: "COMPLETED", segments: [segmentOf(1_000)] });
  const { after, partsEstimated } = sum.summary();
  assert.deepEqual(after, sizes(500, 500));
  assert.equal(partsEstimated, 2);
});

test("sums of namespaces add up to the sum of all", () => {
  const [one, two, total] = [new SplitSum(), new SplitSum(), new SplitSum()];
  one.addRecord({ state: "COMPLETED", segments: [segmentOf(1_000)] });
  two.addRecord({ state: "FAILED", segments: [] });
  two.addStorage(7);
  two.addUnreadable();
  assert.deepEqual([new SplitSum().isEmpty, one.isEmpty, two.isEmpty], [true, false, false]);
  total.add(one);
  total.add(two);
  const both = new SplitSum();
  both.addRecord({ state: "COMPLETED", segments: [segmentOf(1_000)] });
  both.addRecord({ state: "FAILED", segments: [] });
  both.addStorage(7);
  both.addUnreadable();
  assert.deepEqual(total.summary(), both.summary());
  assert.deepEqual(new SplitSum().summary(), NO_SPLITS);
});
