import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { bucketsOf, sharesOf } from "./buckets.ts";

test("a bucket begins where the one before ends, and after a gap a step below its limit", () => {
  const buckets = [
    { upToBytes: "1200", partitions: "3" },
    { upToBytes: "1400", partitions: "0" },
    { upToBytes: "12000", partitions: "1" },
  ];
  deepEqual(bucketsOf({ buckets }), [
    { from: 1_000, to: 1_200, count: 3 },
    { from: 1_200, to: 1_400, count: 0 },
    { from: 10_000, to: 12_000, count: 1 },
  ]);
});

test("the shares of partitions below, in and above the target", () => {
  const buckets = [
    { from: 100, to: 120, count: 1 },
    { from: 1_000, to: 1_200, count: 2 },
    { from: 10_000, to: 12_000, count: 1 },
  ];
  deepEqual(sharesOf(buckets, 1_000, 9_000), { below: 0.25, within: 0.5, above: 0.25 });
  deepEqual(sharesOf([], 1_000, 9_000), { below: 0, within: 0, above: 0 });
});
