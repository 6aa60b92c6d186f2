import { test } from "node:test";
import { liveWorlds } from "./splits-at-work-thread.ts";

test("R6, R7: reads that continue while partitions are split, rolled back and re-opened equal the model (embedded)", async () => {
  await liveWorlds({ engine: "embedded", numRuns: 6 });
});
