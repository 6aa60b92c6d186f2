import { ok } from "node:assert/strict";
import { test } from "node:test";
import type { Engine } from "../support/busy-engine.ts";
import { MemoryCatalog } from "../support/memory-catalog.ts";
import { MemoryStore } from "../support/memory-store.ts";
import { readsDuringSplitsEqualTheModel } from "./splits-at-work.ts";

const openEngine = async (): Promise<Engine> => ({
  catalog: new MemoryCatalog({ shared: true }),
  store: new MemoryStore(),
  close: async () => undefined,
});

test("R6, R7: reads that go on while partitions are split, rolled back and opened again equal the model (memory)", async () => {
  await readsDuringSplitsEqualTheModel(openEngine, { numRuns: 30 });
});

test("reads go on in every state of a split, and out of it (memory)", async () => {
  // Always the same worlds, so that it is always so.
  const tally = await readsDuringSplitsEqualTheModel(openEngine, { numRuns: 20, seed: 1 });
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
