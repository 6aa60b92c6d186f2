import assert from "node:assert/strict";
import { test } from "node:test";
import { utf8 } from "../../lib/bytes.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../../model/namespace-config.ts";
import type { Segment } from "../../model/split.ts";
import { choose, cutterOf, hashPartOf, STRATEGIES } from "./strategies.ts";

const SEGMENT: Segment = {
  from: 1_000,
  to: 1_100,
  state: "SPLITTING",
  generation: 0,
  layout: "PACKED",
  strategy: "EVENT_BUCKETS",
  why: "",
  partBytes: 100,
  partsPlanned: 0,
  partRanges: [],
  copiedTo: 1_100,
  bytes: 0,
  events: 0,
  checksum: "",
  confirmedAt: null,
};

/** Runs a pass over events of 40 bytes at these times and tells the times of each part. */
function partsOf(segment: Segment, times: readonly number[], maxParts = 100): number[][] {
  const cutter = cutterOf(segment, maxParts);
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

test("AUTO takes the one that is ordered and needs one pass, and says why not the others", () => {
  const { strategy, why } = choose(DEFAULT_NAMESPACE_CONFIG);
  assert.equal(strategy, STRATEGIES.EVENT_BUCKETS);
  assert.ok(strategy.ordered && strategy.onePass);
  for (const { name } of Object.values(STRATEGIES)) assert.ok(why.includes(name));
});

test("parts are cut when full, and never inside a microsecond", () => {
  assert.deepEqual(partsOf(SEGMENT, [9, 8, 7, 6, 5, 4, 3]), [[9, 8, 7], [6, 5, 4], [3]]);
  assert.deepEqual(partsOf(SEGMENT, [9, 8, 7, 7, 7, 7, 6]), [[9, 8, 7, 7, 7, 7], [6]]);
  assert.deepEqual(partsOf(SEGMENT, [7, 7, 7, 7, 7]), [[7, 7, 7, 7, 7]]);
});

test("the last part there may be takes the rest", () => {
  assert.deepEqual(partsOf(SEGMENT, [9, 8, 7, 6, 5, 4, 3], 2), [
    [9, 8, 7],
    [6, 5, 4, 3],
  ]);
  assert.deepEqual(partsOf(SEGMENT, [9, 8, 7, 6], 1), [[9, 8, 7, 6]]);
});

test("time buckets are of equal time, and an empty one makes no part", () => {
  const segment: Segment = { ...SEGMENT, strategy: "TIME_BUCKETS", partsPlanned: 4 };
  const times = [1_099, 1_075, 1_074, 1_074, 1_024, 1_000];
  assert.deepEqual(partsOf(segment, times), [
    [1_099, 1_075],
    [1_074, 1_074],
    [1_024, 1_000],
  ]);
  assert.deepEqual(partsOf(segment, times, 2), [
    [1_099, 1_075],
    [1_074, 1_074, 1_024, 1_000],
  ]);
});

test("a pass that goes on later cuts at the same times", () => {
  const segment: Segment = { ...SEGMENT, strategy: "TIME_BUCKETS", partsPlanned: 4 };
  assert.deepEqual(partsOf(segment, [1_060, 1_049, 1_020]), [[1_060], [1_049], [1_020]]);
});

test("hash parts are never cut, and events spread over all of them", () => {
  const segment: Segment = { ...SEGMENT, strategy: "HASH", partsPlanned: 4 };
  assert.equal(partsOf(segment, [9, 8, 7, 6, 5, 4]).length, 1);
  const counts = [0, 0, 0, 0];
  for (let i = 0; i < 4_000; i++) {
    const part = hashPartOf(4, utf8(`e-${i}`));
    counts[part] = (counts[part] ?? 0) + 1;
  }
  assert.ok(
    counts.every((count) => count > 800 && count < 1_200),
    counts.join(" "),
  );
  assert.equal(hashPartOf(1, utf8("e-1")), 0);
});
