import assert from "node:assert/strict";
import { test } from "node:test";
import { utf8 } from "../../lib/bytes.ts";
import { eventBuckets } from "./event-buckets.ts";
import { hash } from "./hash.ts";
import { SPLIT_STRATEGIES, STRATEGIES } from "./strategies.ts";
import type { DividedSegment, OrderedStrategy } from "./strategy.ts";
import { timeBuckets } from "./time-buckets.ts";

const SEGMENT: DividedSegment = { from: 1_000, to: 1_100, partBytes: 100, partsPlanned: 0 };
const PLANNED = { ...SEGMENT, partsPlanned: 4 };

/** Runs a pass over events of 40 bytes at these times and returns the times of each part. */
function partsOf(
  strategy: OrderedStrategy,
  segment: DividedSegment,
  times: readonly number[],
  maxParts = 100,
): number[][] {
  const cutter = strategy.cutter(segment, maxParts);
  const closed: number[][] = [];
  let open: number[] = [];
  for (const time of times) {
    if (cutter.cutBefore(time, open.length * 40, open.length, closed.length)) {
      closed.push(open);
      open = [];
    }
    open.push(time);
  }
  return [...closed, open];
}

test("parts are cut when full, and never inside a microsecond", () => {
  assert.deepEqual(partsOf(eventBuckets, SEGMENT, [9, 8, 7, 6, 5, 4, 3]), [
    [9, 8, 7],
    [6, 5, 4],
    [3],
  ]);
  assert.deepEqual(partsOf(eventBuckets, SEGMENT, [9, 8, 7, 7, 7, 7, 6]), [
    [9, 8, 7, 7, 7, 7],
    [6],
  ]);
  assert.deepEqual(partsOf(eventBuckets, SEGMENT, [7, 7, 7, 7, 7]), [[7, 7, 7, 7, 7]]);
});

test("the last allowed part takes the rest", () => {
  assert.deepEqual(partsOf(eventBuckets, SEGMENT, [9, 8, 7, 6, 5, 4, 3], 2), [
    [9, 8, 7],
    [6, 5, 4, 3],
  ]);
  assert.deepEqual(partsOf(eventBuckets, SEGMENT, [9, 8, 7, 6], 1), [[9, 8, 7, 6]]);
});

test("time buckets are of equal time, and an empty one makes no part", () => {
  const times = [1_099, 1_075, 1_074, 1_074, 1_024, 1_000];
  assert.deepEqual(partsOf(timeBuckets, PLANNED, times), [
    [1_099, 1_075],
    [1_074, 1_074],
    [1_024, 1_000],
  ]);
  assert.deepEqual(partsOf(timeBuckets, PLANNED, times, 2), [
    [1_099, 1_075],
    [1_074, 1_074, 1_024, 1_000],
  ]);
});

test("a pass that resumes later cuts at the same times", () => {
  assert.deepEqual(partsOf(timeBuckets, PLANNED, [1_060, 1_049, 1_020]), [
    [1_060],
    [1_049],
    [1_020],
  ]);
});

test("by hash, events spread over all parts", () => {
  const counts = [0, 0, 0, 0];
  for (let i = 0; i < 4_000; i++) {
    const part = hash.partOf(4, utf8(`e-${i}`));
    counts[part] = (counts[part] ?? 0) + 1;
  }
  assert.ok(
    counts.every((count) => count > 800 && count < 1_200),
    counts.join(" "),
  );
  assert.equal(hash.partOf(1, utf8("e-1")), 0);
});

test("a strategy is listed under its own name, which is stored", () => {
  assert.deepEqual(SPLIT_STRATEGIES, ["EVENT_BUCKETS", "TIME_BUCKETS", "HASH"]);
  for (const name of SPLIT_STRATEGIES) assert.equal(STRATEGIES[name].name, name);
});
