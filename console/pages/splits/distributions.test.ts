import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { overlaid } from "./distributions.ts";

test("two distributions share their columns, which are powers of two", () => {
  const before = { buckets: [{ upTo: "1000", count: "2" }] };
  const after = {
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
  deepEqual(overlaid({ buckets: [] }, { buckets: [] }), { first: [], second: [] });
});
