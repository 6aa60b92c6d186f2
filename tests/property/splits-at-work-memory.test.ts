import { ok } from "node:assert/strict";
import { test } from "node:test";
import { liveWorlds } from "./splits-at-work-thread.ts";

test("R6, R7: reads that continue while partitions are split, rolled back and re-opened equal the model (memory)", async () => {
  await liveWorlds({ engine: "memory", numRuns: 40 });
});

test("reads continue in every state of a split, and from it (memory)", async () => {
  // Always the same worlds, so that the result is always the same.
  const tally = await liveWorlds({ engine: "memory", numRuns: 20, seed: 1 });
  const count = (what: RegExp): number =>
    [...tally].reduce((sum, [key, n]) => sum + (what.test(key) ? n : 0), 0);
  // The claim above would also hold if pages were read only before or after all of this.
  for (const what of [
    /^from SPLIT/,
    /^compared MATCH/,
    /^page while (?:DETECTED|PLANN)/,
    /^page while SPLITTING/,
    /^page while VALIDATING/,
    /^page while COMPLETED, not confirmed/,
    /^page while COMPLETED$/,
    /^page while further/,
    /^page while INVALIDATED/,
    /^roll back/,
    /^retry/,
    /^accept/,
    /^written into split time/,
  ]) {
    ok(count(what) > 2, `${what.source}: ${count(what)}`);
  }
});
