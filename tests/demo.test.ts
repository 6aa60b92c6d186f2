import { equal } from "node:assert/strict";
import { test } from "node:test";
import { againstControls, isTooNoisy } from "../scripts/demo/controls.ts";

test("the demo judges a gain against ids that were never split, or says that it cannot", () => {
  equal(againstControls(3, [1.2, 1 / 1.2]), "3.0 times");
  equal(againstControls(2.8, [1.4, 1.4]), "2.0 times");
  for (const controls of [[1, 1.41], [0.69, 1], [Number.NaN], []]) {
    equal(againstControls(3, controls), "too noisy to judge", String(controls));
  }
  equal(isTooNoisy([0.7, 1.4]), false);
});
