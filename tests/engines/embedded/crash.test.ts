import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openEmbeddedEngine } from "../../../src/engines/embedded/index.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { StoreChild } from "./child.ts";
import { SLICE, WRITERS, readNumbers, smallLevel } from "./numbered-events.ts";

const KILLS = Number(process.env["BRAID_KILLS"] ?? 25);
const SEED = Number(process.env["BRAID_SEED"] ?? 20260328);

test("W17, W20: killed at any moment, every acknowledged event is there and no loss is reported", async () => {
  const directory = await mkdtemp(join(tmpdir(), "braid-crash-"));
  const acked = new Map(WRITERS.map((writer) => [writer, -1]));
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      const child = new StoreChild(directory);
      await child.hear((line) => line === "ready");
      child.tell("flood");
      // A different number of acknowledgements each time, the same for the same seed.
      const enough = 1 + ((SEED + kill * 7919) % 600);
      let count = 0;
      await child.hear((line) => line.startsWith("acked") && ++count > enough);
      await child.kill();
      for (const line of child.lines.filter((said) => said.startsWith("acked"))) {
        const [, writer = "", number] = line.split(" ");
        acked.set(writer, Math.max(acked.get(writer) ?? -1, Number(number)));
      }
      // Every other time the next child meets what the crash left.
      if (kill % 2 === 0) await check(directory, acked, kill);
    }
    await check(directory, acked, KILLS);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

async function check(
  directory: string,
  acked: ReadonlyMap<string, number>,
  kill: number,
): Promise<void> {
  const engine = await openEmbeddedEngine({ directory, clock: systemClock, level: smallLevel });
  try {
    for (const [writer, last] of acked) {
      const numbers = await readNumbers(engine.store, writer);
      // Each writer waits for its answer, so at most one more than was acknowledged is there.
      assert.deepEqual(
        numbers,
        [...numbers.keys()],
        `seed ${SEED}, kill ${kill}: ${writer} has a gap`,
      );
      assert.ok(numbers.length >= last + 1, `seed ${SEED}, kill ${kill}: ${writer} lost ${last}`);
    }
    const { events } = await engine.store.sliceStats(SLICE);
    assert.ok(events >= [...acked.values()].reduce((sum, last) => sum + last + 1, 0));
  } finally {
    await engine.close();
  }
}
