/** Workers that stop anywhere, for ever or for a while, and others that continue. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../lib/errors.ts";
import type { NamespaceConfigPatch } from "../../model/merge-config.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { SplitRecord } from "../../model/split.ts";
import { HOUR, MIDNIGHT, SplitScenario } from "../../../tests/scenarios/split-scenario.ts";
import { OneByOne, StopAfter } from "../../../tests/support/stopped-process.ts";

const TEN = MIDNIGHT + 10 * HOUR;
const EVENTS = 48;

async function fixtureWithWide(
  patch: NamespaceConfigPatch = {},
): Promise<{ fixture: SplitScenario; partition: PartitionKey }> {
  const fixture = await SplitScenario.open(patch);
  await fixture.write({ events: EVENTS, bytes: 4_000, from: TEN, to: TEN + HOUR });
  return { fixture, partition: await fixture.partitionAt(TEN) };
}

/**
 * Done, without an owner, and published: a worker that stops right after its last change leaves
 * that to the sweep.
 */
async function untilServed(fixture: SplitScenario, partition: PartitionKey): Promise<SplitRecord> {
  const isDone = ({ state, owner, dueAt }: SplitRecord): boolean =>
    state === "COMPLETED" && owner === null && dueAt === null;
  await fixture.until(partition, isDone, 900);
  for (let seconds = 0; seconds < 60 && (await fixture.compare(partition)).parts === 0; seconds++) {
    await fixture.clock.advance(1_000);
  }
  return fixture.until(partition, isDone);
}

async function assertServed(
  fixture: SplitScenario,
  partition: PartitionKey,
  at: string,
): Promise<void> {
  const { same, events } = await fixture.compare(partition);
  assert.deepEqual({ same, events }, { same: true, events: EVENTS }, at);
}

/** Whether the first worker was stopped before it was done. */
async function stopAndTakeOver(patch: NamespaceConfigPatch, passes: number): Promise<boolean> {
  const { fixture, partition } = await fixtureWithWide(patch);
  const stop = new StopAfter(passes);
  fixture.startWorker({ gate: stop.gate });
  await fixture.clock.advance(22_000);
  await fixture.detect(partition);
  await fixture.clock.advance(3_000);
  const { stopped } = stop;
  fixture.startWorker();
  const at = `stopped after ${passes} calls and answers`;
  const done = await untilServed(fixture, partition);
  await assertServed(fixture, partition, at);
  // The stopped worker resumes as if nothing had happened.
  stop.resume();
  await fixture.clock.advance(30_000);
  const after = await fixture.record(partition);
  assert.deepEqual(after?.segments, done.segments, at);
  assert.equal(after?.owner, null, at);
  await assertServed(fixture, partition, at);
  await fixture.close();
  return stopped;
}

async function stopEverywhere(patch: NamespaceConfigPatch, stride: number): Promise<number> {
  let passes = 0;
  while (await stopAndTakeOver(patch, passes)) passes += stride;
  return passes;
}

test("P1, CP1, CP3, V5, S1, S3: a worker stopped at any call is replaced, and harms nothing when it resumes", async () => {
  const passes = await stopEverywhere({}, 1);
  assert.ok(passes > 100, `${passes}`);
});

test("CP1: the same with parts by hash", async () => {
  const passes = await stopEverywhere({ widePartition: { strategy: "HASH" } }, 5);
  assert.ok(passes > 80, `${passes}`);
});

/** Whether there was such a call. */
async function failOnce(nth: number): Promise<boolean> {
  const { fixture, partition } = await fixtureWithWide();
  let count = 0;
  const gate = (): void => {
    if (count++ === nth) throw new ServiceError("STORAGE_UNAVAILABLE", "away for a moment");
  };
  fixture.startWorker({ gate });
  await fixture.clock.advance(22_000);
  await fixture.detect(partition);
  const { failures } = await untilServed(fixture, partition);
  const at = `the gate failed at ${nth}`;
  await assertServed(fixture, partition, at);
  assert.equal(failures, 0, at);
  await fixture.close();
  return count > nth;
}

test("CP2, S8: a call that fails, or whose answer is lost, costs a wait and nothing else", async () => {
  let nth = 0;
  // Calls and answers take turns: an odd stride meets both.
  while (await failOnce(nth)) nth += 3;
  assert.ok(nth > 100, `${nth}`);
});

/** The same randomness for the same seed. */
function randomnessOf(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state >>> 8;
  };
}

test("CP3, CP4, CO4, S2: workers that replace one another at every step end with one whole copy", async () => {
  let takeOvers = 0;
  for (let seed = 0; seed < 12; seed++) {
    const { fixture, partition } = await fixtureWithWide();
    const randomness = randomnessOf(seed);
    const gates = [new OneByOne(), new OneByOne(), new OneByOne()];
    for (const { gate } of gates) fixture.startWorker({ gate, leaseMs: 900, sweepMs: 300 });
    await fixture.detect(partition);
    const isDone = (record: SplitRecord | undefined): boolean =>
      record?.state === "COMPLETED" && record.owner === null && record.dueAt === null;
    for (let steps = 0; !isDone(await fixture.record(partition)); steps++) {
      assert.ok(steps < 60_000, `seed ${seed} does not end`);
      // One of them stops for a while, then another.
      const nth = randomness() % gates.length;
      const chosen = Math.floor(steps / 80) % gates.length === nth ? undefined : gates[nth];
      if (chosen !== undefined && chosen.waiting > 0) chosen.letThrough(randomness());
      await fixture.clock.advance(randomness() % 20 === 0 ? 500 : randomness() % 20);
    }
    takeOvers += ((await fixture.record(partition))?.fence ?? 1) - 1;
    fixture.startWorker();
    await untilServed(fixture, partition);
    await assertServed(fixture, partition, `seed ${seed}`);
    await fixture.close();
  }
  assert.ok(takeOvers > 12, `${takeOvers} take-overs`);
});
