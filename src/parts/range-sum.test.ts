import { equal } from "node:assert/strict";
import { test } from "node:test";
import { sameSum } from "./range-sum.ts";

test("V2: two sums are equal only if events, bytes and digest are", () => {
  const sum = { events: 3, bytes: 30, digest: "d" };
  equal(sameSum(sum, { ...sum }), true);
  // Where only sizes are compared both digests are empty.
  equal(sameSum({ ...sum, digest: "" }, { ...sum, digest: "" }), true);
  equal(sameSum({ ...sum, digest: "" }, { ...sum, digest: "", bytes: 31 }), false);
  equal(sameSum(sum, { ...sum, events: 4 }), false);
  equal(sameSum(sum, { ...sum, bytes: 31 }), false);
  equal(sameSum(sum, { ...sum, digest: "e" }), false);
});
