import { ok } from "node:assert/strict";
import { test } from "node:test";
import { splitReadsEqualTheModel } from "./splits.ts";

test("reads equal the model however partitions are split, and whatever happens to the splits between two pages", async () => {
  const told = await splitReadsEqualTheModel(60);
  const count = (what: string): number =>
    [...told].reduce((sum, [key, n]) => sum + (key.startsWith(what) ? n : 0), 0);
  // The claim would also hold if no split were ever read.
  for (const what of ["split reads", "compared MATCH", "filter HIT", "fallback"]) {
    ok(count(what) > 10, `${what}: ${count(what)}`);
  }
});
