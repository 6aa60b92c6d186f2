import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openEmbeddedEngine } from "../../src/engines/embedded/index.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { readsDuringSplitsEqualTheModel } from "./splits-at-work.ts";

test("R6, R7: reads that go on while partitions are split, rolled back and opened again equal the model (embedded)", async () => {
  await readsDuringSplitsEqualTheModel(
    async () => {
      const directory = await mkdtemp(join(tmpdir(), "braid-property-"));
      const engine = await openEmbeddedEngine({ directory, clock: systemClock });
      const close = async (): Promise<void> => {
        await engine.close();
        await rm(directory, { recursive: true });
      };
      return { ...engine, close };
    },
    { numRuns: 4 },
  );
});
