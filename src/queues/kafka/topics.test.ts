import assert from "node:assert/strict";
import { test } from "node:test";
import { tooFewCopies } from "./topics.ts";

test("a topic with fewer replicas than wanted is reported, by its weakest partition", () => {
  const partitions = [{ replicas: [1, 2, 3] }, { replicas: [2] }];
  assert.match(
    tooFewCopies("t", partitions, 3) ?? "",
    /topic t has replication factor 1, and 3 is wanted/,
  );
});

test("a topic with as many replicas as wanted, or more, is not reported", () => {
  assert.equal(tooFewCopies("t", [{ replicas: [1, 2, 3] }], 3), undefined);
  assert.equal(tooFewCopies("t", [{ replicas: [1, 2, 3] }], 1), undefined);
});
