/** Workers that stop anywhere, for good or for a while, and others that go on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../lib/errors.ts";
import type { NamespaceConfigPatch } from "../../model/merge-config.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { SplitRecord } from "../../model/split.ts";
import { HOUR, MIDNIGHT, SplitWorld } from "../../../tests/scenarios/split-world.ts";
import { OneByOne, StopAfter } from "../../../tests/support/stopped-process.ts";

const TEN = MIDNIGHT + 10 * HOUR;
const EVENTS = 48;

async function worldWithWide(
  patch: NamespaceConfigPatch = {},
): Promise<{ world: SplitWorld; partition: PartitionKey }> {
  const world = await SplitWorld.open(patch);
  await world.write({ events: EVENTS, bytes: 4_000, from: TEN, to: TEN + HOUR });
  return { world, partition: await world.partitionAt(TEN) };
}

/** Done, nobody's, and published: who stops right behind his last change leaves that to the sweep. */
async function untilServed(world: SplitWorld, partition: PartitionKey): Promise<SplitRecord> {
  const isDone = ({ state, owner, dueAt }: SplitRecord): boolean =>
    state === "COMPLETED" && owner === null && dueAt === null;
  await world.until(partition, isDone, 900);
  for (let seconds = 0; seconds < 60 && (await world.compare(partition)).parts === 0; seconds++) {
    await world.clock.advance(1_000);
  }
  return world.until(partition, isDone);
}

async function assertServed(world: SplitWorld, partition: PartitionKey, at: string): Promise<void> {
  const { same, events } = await world.compare(partition);
  assert.deepEqual({ same, events }, { same: true, events: EVENTS }, at);
}

/** Whether the first worker was stopped before it was done. */
async function stopAndTakeOver(patch: NamespaceConfigPatch, passes: number): Promise<boolean> {
  const { world, partition } = await worldWithWide(patch);
  const stop = new StopAfter(passes);
  world.startWorker({ gate: stop.gate });
  await world.clock.advance(22_000);
  await world.detect(partition);
  await world.clock.advance(3_000);
  const { stopped } = stop;
  world.startWorker();
  const at = `stopped after ${passes} calls and answers`;
  const done = await untilServed(world, partition);
  await assertServed(world, partition, at);
  // The one that was stopped wakes up and goes on as if nothing had happened.
  stop.resume();
  await world.clock.advance(30_000);
  const after = await world.record(partition);
  assert.deepEqual(after?.segments, done.segments, at);
  assert.equal(after?.owner, null, at);
  await assertServed(world, partition, at);
  await world.close();
  return stopped;
}

async function stopEverywhere(patch: NamespaceConfigPatch, stride: number): Promise<number> {
  let passes = 0;
  while (await stopAndTakeOver(patch, passes)) passes += stride;
  return passes;
}

test("S1, S3: a worker stopped at any call is taken over, and harms nothing when it wakes", async () => {
  const passes = await stopEverywhere({}, 1);
  assert.ok(passes > 100, `${passes}`);
});

test("the same with parts by hash", async () => {
  const passes = await stopEverywhere({ widePartition: { strategy: "HASH" } }, 5);
  assert.ok(passes > 80, `${passes}`);
});

/** Whether there was such a call. */
async function failOnce(nth: number): Promise<boolean> {
  const { world, partition } = await worldWithWide();
  let count = 0;
  const gate = (): void => {
    if (count++ === nth) throw new ServiceError("STORAGE_UNAVAILABLE", "away for a moment");
  };
  world.startWorker({ gate });
  await world.clock.advance(22_000);
  await world.detect(partition);
  const { failures } = await untilServed(world, partition);
  const at = `the gate failed at ${nth}`;
  await assertServed(world, partition, at);
  assert.equal(failures, 0, at);
  await world.close();
  return count > nth;
}

test("S8: a call that fails, or whose answer is lost, costs a wait and nothing else", async () => {
  let nth = 0;
  // Calls and answers take turns: an odd stride meets both.
  while (await failOnce(nth)) nth += 3;
  assert.ok(nth > 100, `${nth}`);
});

/** The same dice for the same seed. */
function diceOf(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state >>> 8;
  };
}

test("S2: workers that overtake one another at every step end with one whole copy", async () => {
  let takeOvers = 0;
  for (let seed = 0; seed < 12; seed++) {
    const { world, partition } = await worldWithWide();
    const dice = diceOf(seed);
    const gates = [new OneByOne(), new OneByOne(), new OneByOne()];
    for (const { gate } of gates) world.startWorker({ gate, leaseMs: 900, sweepMs: 300 });
    await world.detect(partition);
    const isDone = (record: SplitRecord | undefined): boolean =>
      record?.state === "COMPLETED" && record.owner === null && record.dueAt === null;
    for (let steps = 0; !isDone(await world.record(partition)); steps++) {
      assert.ok(steps < 60_000, `seed ${seed} does not end`);
      // One of them stands still for a while, then another.
      const nth = dice() % gates.length;
      const chosen = Math.floor(steps / 80) % gates.length === nth ? undefined : gates[nth];
      if (chosen !== undefined && chosen.waiting > 0) chosen.letThrough(dice());
      await world.clock.advance(dice() % 20 === 0 ? 500 : dice() % 20);
    }
    takeOvers += ((await world.record(partition))?.fence ?? 1) - 1;
    world.startWorker();
    await untilServed(world, partition);
    await assertServed(world, partition, `seed ${seed}`);
    await world.close();
  }
  assert.ok(takeOvers > 12, `${takeOvers} take-overs`);
});
