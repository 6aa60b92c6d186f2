import assert from "node:assert/strict";
import { test } from "node:test";
import { throttleMs } from "./throttle-ms.ts";

test("without reads, or with quick ones, the copy does not wait", () => {
  assert.equal(throttleMs(undefined, 500, 20), 0);
  assert.equal(throttleMs(250, 500, 20), 0);
});

test("CP7: the slower the reads, the longer it waits, up to a bound", () => {
  assert.equal(throttleMs(500, 500, 20), 20);
  assert.ok(throttleMs(400, 500, 20) < throttleMs(600, 500, 20));
  assert.equal(throttleMs(60_000, 500, 20), 80);
  assert.equal(throttleMs(60_000, 500, 5_000), 1_000);
});
