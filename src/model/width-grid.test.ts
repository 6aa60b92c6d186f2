import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  columnOf,
  COLUMNS_MAX,
  gridShapeOf,
  HASH_ROWS,
  hashRowOf,
  SIZE_ROWS,
  sizeRowBound,
  sizeRowOf,
  WidthGridTally,
} from "./width-grid.ts";

const HOURLY = { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 3_600, eventBuckets: 1 };

test("a size lies in the first row whose bound it does not exceed", () => {
  for (let row = 0; row < SIZE_ROWS - 1; row++) {
    equal(sizeRowOf(sizeRowBound(row)), row);
    equal(sizeRowOf(sizeRowBound(row) + 1), row + 1);
  }
  equal(sizeRowOf(0), 0);
  equal(sizeRowOf(1e15), SIZE_ROWS - 1);
});

test("a slice has a column for each time bucket, or as few in each as it takes", () => {
  deepEqual(gridShapeOf(HOURLY), { columns: 24, bucketsPerColumn: 1 });
  const shape = gridShapeOf({ ...HOURLY, secondsPerTimeBucket: 60 });
  deepEqual(shape, { columns: 240, bucketsPerColumn: 6 });
  equal(columnOf(shape, 11), 1);
  equal(columnOf(shape, 1_000_000), 239, "beyond the slice");
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 31_536_000 }), (seconds) => {
      const { columns } = gridShapeOf({ ...HOURLY, secondsPerTimeSlice: seconds });
      return columns >= 1 && columns <= COLUMNS_MAX;
    }),
  );
});

test("ids are spread over the rows of hashes", () => {
  const rows = new Set(Array.from({ length: 2_000 }, (_, nth) => hashRowOf(`id${nth}`)));
  equal(rows.size, HASH_ROWS);
});

test("both grids hold every partition once, with its bytes, events and the largest", () => {
  const tally = new WidthGridTally(HOURLY);
  tally.add("a", 3, 2_000, 10);
  tally.add("b", 3, 2_040, 20);
  tally.add("b", 23, 5_000_000, 1);
  const { bySize, byHash } = tally.grids();
  deepEqual(bySize, [
    [sizeRowOf(2_000) * 24 + 3, 2, 4_040, 30, 2_040],
    [sizeRowOf(5_000_000) * 24 + 23, 1, 5_000_000, 1, 5_000_000],
  ]);
  deepEqual(
    byHash.map(([, partitions]) => partitions),
    [1, 1, 1],
  );
});

test("a sample that is scaled stands for whole partitions, and at least for one", () => {
  const sampled = new WidthGridTally(HOURLY);
  sampled.add("a", 0, 2_000, 10);
  const all = new WidthGridTally(HOURLY);
  all.merge(sampled.grids(), 2.4);
  const [cell] = all.grids().bySize;
  deepEqual(cell?.slice(1), [2, 4_800, 24, 2_000]);
  const few = new WidthGridTally(HOURLY);
  few.merge(sampled.grids(), 0.1);
  ok((few.grids().bySize[0]?.[1] ?? 0) >= 1);
});
