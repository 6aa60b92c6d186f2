/**
 * A catalog that tells a process that it has changed a record although another process had changed
 * it before. No compare-and-set should; that of a database in trouble has. No read may be wrong by
 * it.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { HOUR, MIDNIGHT, SplitScenario } from "../../../tests/scenarios/split-scenario.ts";
import { OneByOne } from "../../../tests/support/stopped-process.ts";
import { SeededRandom } from "../../lib/seeded-random.ts";
import { IntegrityError } from "../../parts/part-reader.ts";
import type { SplitRecord } from "../../model/split.ts";

const TEN = MIDNIGHT + 10 * HOUR;
const EVENTS = 48;
const WORLDS = 6;

function rests({ state, owner, dueAt }: SplitRecord): boolean {
  return owner === null && dueAt === null && (state === "COMPLETED" || state === "FAILED");
}

/** How often a process that had lost got the answer that it had won. */
async function worldOfLies(seed: number): Promise<number> {
  const fixture = await SplitScenario.open();
  const { catalog, clock } = fixture;
  await fixture.write({ events: EVENTS, bytes: 4_000, from: TEN, to: TEN + HOUR });
  const partition = await fixture.partitionAt(TEN);
  const random = new SeededRandom(seed);
  const below = (limit: number): number => Math.floor(random.fraction() * limit);
  const write = catalog.write.bind(catalog);
  let lies = 0;
  catalog.write = async (space, key, value, expected) => {
    const version = await write(space, key, value, expected);
    if (version !== undefined || !space.startsWith("splits/") || lies > 3) return version;
    lies++;
    return (await catalog.read(space, key))?.version;
  };
  const gates = [new OneByOne(), new OneByOne(), new OneByOne()];
  for (const { gate } of gates) fixture.startWorker({ gate, leaseMs: 900, sweepMs: 300 });
  await fixture.detect(partition);
  for (let steps = 0; ; steps++) {
    const record = await fixture.record(partition);
    if (record !== undefined && rests(record)) break;
    assert.ok(steps < 60_000, `seed ${seed} does not end`);
    // One of them stops for a while, then another.
    const nth = below(gates.length);
    const chosen = Math.floor(steps / 80) % gates.length === nth ? undefined : gates[nth];
    if (chosen !== undefined && chosen.waiting > 0) chosen.letThrough(below(1_000));
    await clock.advance(below(20) === 0 ? 500 : below(20));
  }
  // Processes that still believe to own it continue, beside one that knows of nothing.
  fixture.startWorker();
  for (let steps = 0; steps < 2_000; steps++) {
    for (const gate of gates) if (gate.waiting > 0) gate.letThrough(0);
    await clock.advance(5);
  }
  await fixture.until(partition, rests, 900);
  // A read uses the split if it is whole, or else the original.
  const { same } = await fixture.compare(partition).catch((error: unknown) => {
    assert.ok(error instanceof IntegrityError, `seed ${seed}: ${String(error)}`);
    return { same: true };
  });
  assert.ok(same, `seed ${seed}`);
  await fixture.close();
  return lies;
}

test("CO6: changes of a split that two workers believe to have made lead to no wrong read", async () => {
  let lies = 0;
  for (let seed = 0; seed < WORLDS; seed++) lies += await worldOfLies(seed);
  assert.ok(lies >= WORLDS, `${lies}`);
});
