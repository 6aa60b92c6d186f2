import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { overlaid } from "./distributions.ts";

test("two distributions share their columns, which are powers of two", () => {
  const before = { max: "900", buckets: [{ upTo: "1000", count: "2" }] };
  const after = {
    max: "250",
    buckets: [
      { upTo: "200", count: "3" },
      { upTo: "256", count: "4" },
    ],
  };
  const { first, second } = overlaid(before, after);
  deepEqual(
    first.map(({ from, to, count }) => [from, to, count]),
    [
      [128, 256, 0],
      [256, 512, 0],
      [512, 1024, 2],
    ],
  );
  deepEqual(
    second.map(({ count }) => count),
    [7, 0, 0],
  );
  const none = { max: "0", buckets: [] };
  deepEqual(overlaid(none, none), { first: [], second: [] });
});

test("a bucket whose limit is beyond the largest size is drawn where the largest is", () => {
  const one = { max: "468412", buckets: [{ upTo: "545791", count: "1" }] };
  deepEqual(overlaid(one, { max: "0", buckets: [] }).first, [
    { from: 262_144, to: 524_288, count: 1 },
  ]);
});
