import { ok } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../support/memory-catalog.ts";
import { MemoryStore } from "../support/memory-store.ts";
import { readsDuringSplitsEqualTheModel } from "./splits-at-work.ts";

test("R6, R7: reads that go on while partitions are split, rolled back and opened again equal the model (memory)", async () => {
  const tally = await readsDuringSplitsEqualTheModel(
    async () => ({
      catalog: new MemoryCatalog({ shared: true }),
      store: new MemoryStore(),
      close: async () => undefined,
    }),
    40,
  );
  const count = (what: RegExp): number =>
    [...tally].reduce((sum, [key, n]) => sum + (what.test(key) ? n : 0), 0);
  // It would hold, too, if pages were read only before or after it all.
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
    /^accept/,
  ]) {
    ok(count(what) > 2, `${what.source}: ${count(what)}`);
  }
});
