import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openEmbeddedEngine } from "../../src/engines/embedded/index.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { readsEqualTheModel } from "./reads.ts";

test("R19, R12: reads of any pages in both orders equal the model (embedded)", async () => {
  await readsEqualTheModel(async () => {
    const directory = await mkdtemp(join(tmpdir(), "braid-property-"));
    const engine = await openEmbeddedEngine({
      directory,
      clock: systemClock,
    });
    return Object.assign(engine.store, {
      dispose: async () => {
        await engine.close();
        await rm(directory, { recursive: true });
      },
    });
  }, 25);
});
