import assert from "node:assert/strict";
import { test } from "node:test";
import { movedSplit, newSplit } from "./split-moves.ts";

const partition = { namespaceId: "n", slice: "s", seriesId: "a", timeBucket: 0, eventBucket: 0 };
const seen = { bytes: 0, events: 0, immutable: false, detectedAt: 0 };
const why = { at: 0, by: "w", reason: "" };

test("a wish lasts until the split begins anew, for whoever begins it", () => {
  const split = { partition, namespace: "plays", epoch: 1, ...seen };
  assert.equal(newSplit(split, why).askedBy, null);
  const asked = newSplit({ ...split, askedBy: "ada" }, why);
  assert.equal(asked.askedBy, "ada");
  const refused = movedSplit(movedSplit(asked, "DETECTED", why), "REFUSED", why);
  assert.equal(refused.askedBy, "ada");
  assert.equal(movedSplit(refused, "DETECTED", why).askedBy, null);
  assert.equal(movedSplit(refused, "DETECTED", why, { askedBy: "bob" }).askedBy, "bob");
});
