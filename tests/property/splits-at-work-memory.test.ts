import { ok } from "node:assert/strict";
import { test } from "node:test";
import { liveWorlds } from "./splits-at-work-thread.ts";

test("R6, R7: reads that go on while partitions are split, rolled back and opened again equal the model (memory)", async () => {
  await liveWorlds({ engine: "memory", numRuns: 40 });
});

test("reads go on in every state of a split, and out of it (memory)", async () => {
  // Always the same worlds, so that it is always so.
  const tally = await liveWorlds({ engine: "memory", numRuns: 20, seed: 1 });
  const count = (what: RegExp): number =>
    [...tally].reduce((sum, [key, n]) => sum + (what.test(key) ? n : 0), 0);
  // The claim above would hold, too, if pages were read only before or after it all.
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
