import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { SizeHistogram } from "../model/size-histogram.ts";
import type { Distribution } from "../model/size-histogram.ts";
import { targetSharesOf, widthSentence } from "./width-sentence.ts";

const MIB = 1 << 20;
const TARGET = { minBytes: 2 * MIB, maxBytes: 10 * MIB, limitBytes: 100 * MIB };
const NONE = { count: 0, more: false, split: 0, ids: [] };

function sizesOf(...sizes: number[]): Distribution {
  const histogram = new SizeHistogram();
  for (const bytes of sizes) histogram.add(bytes);
  return histogram.distribution();
}

function sentence(sizes: Distribution, over = NONE, sampleShare = 1): string {
  return widthSentence({ sizes, complete: true, sampleShare }, over, TARGET);
}

test("the sentence names what is over the limit and how much misses the target", () => {
  const sizes = sizesOf(1_000, 1_000, 5 * MIB, 6 * MIB, 200 * MIB);
  const over = { count: 3, more: false, split: 2, ids: ["a", "b", "c"] };
  equal(
    sentence(sizes, over as never),
    "3 partitions over 100MiB: a, b, c, 2 of them split; 40 % below the target of 2MiB to 10MiB; " +
      "20 % above it.",
  );
});

test("the sentence says when all is well, when nothing was there, and when it is an estimate", () => {
  equal(
    sentence(sizesOf(5 * MIB)),
    "No partition is over 100MiB; all lie within the target of 2MiB to 10MiB.",
  );
  equal(sentence(sizesOf()), "The slice held no events when it was walked.");
  equal(
    sentence(sizesOf(1_000, 5 * MIB), NONE, 0.1),
    "No partition is over 100MiB; about 50 % below the target of 2MiB to 10MiB.",
  );
});

test("few of many are less than 1 %, and more names than shown end in an ellipsis", () => {
  const sizes = sizesOf(1_000, ...Array.from({ length: 999 }, () => 5 * MIB));
  const over = { count: 1_000, more: true, split: 0, ids: ["a", "b", "c", "d"] };
  equal(
    sentence(sizes, over as never),
    "At least 1,000 partitions over 100MiB: a, b, c, …; less than 1 % below the target of 2MiB to " +
      "10MiB.",
  );
});

test("shares of an empty slice are 0", () => {
  deepEqual(targetSharesOf(sizesOf(), TARGET), { below: 0, above: 0 });
});
