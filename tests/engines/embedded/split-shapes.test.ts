import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbeddedEngine } from "../../../src/engines/embedded/index.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { splitShapesSuite } from "../../conformance/split-shapes.ts";

splitShapesSuite("embedded", async () => {
  const directory = await mkdtemp(join(tmpdir(), "braid-shapes-"));
  const engine = await openEmbeddedEngine({ directory, clock: systemClock });
  return {
    ...engine,
    close: async () => {
      await engine.close();
      await rm(directory, { recursive: true });
    },
  };
});
