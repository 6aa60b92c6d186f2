import assert from "node:assert/strict";
import { test } from "node:test";
import { isSettled, nextUnsettled, settle, unsettledIn } from "./settled-offsets.ts";

test("neighbours become one range, whatever the order", () => {
  const ranges = settle(settle([], [7, 3], 0), [4, 5, 6, 3], 0);
  assert.deepEqual(ranges, [[3, 8]]);
  assert.deepEqual(
    [2, 3, 7, 8].map((offset) => isSettled(ranges, offset)),
    [false, true, true, false],
  );
  assert.deepEqual(
    [2, 3, 7, 8].map((offset) => nextUnsettled(ranges, offset)),
    [2, 8, 8, 8],
  );
});

test("what is gone costs one range", () => {
  const ranges = settle([], [1, 3, 5, 9], 0);
  assert.equal(ranges.length, 4);
  assert.deepEqual(settle(ranges, [11], 8), [
    [0, 8],
    [9, 10],
    [11, 12],
  ]);
});

test("open positions of a range are counted", () => {
  assert.equal(unsettledIn([], 3, 10), 7);
  assert.equal(
    unsettledIn(
      [
        [0, 4],
        [6, 7],
        [9, 20],
      ],
      3,
      10,
    ),
    4,
  );
  assert.equal(unsettledIn([[0, 5]], 5, 5), 0);
});
