import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { until } from "../../tests/support/conditions.ts";
import {
  anyEvents,
  framesOf,
  FROM,
  GENERATION,
  newestFirst,
  ORIGINAL,
  PART,
  runsOf,
  sameBytes,
  storedBlocks,
  storeWithTable,
  testEvent,
  TO,
  writeEvents,
} from "../../tests/support/part-events.ts";
import type { TestEvent } from "../../tests/support/part-events.ts";
import { ServiceError } from "../lib/errors.ts";
import { SPLIT_LAYOUTS } from "../model/layouts.ts";
import type { StoredBlock } from "../ports/event-store.ts";
import type { Run } from "../wire/frames.ts";
import { BLOCK_BYTES_TARGET } from "../wire/packed-block.ts";
import { PartWriter } from "./part-writer.ts";
import { RangeDigest } from "./range-digest.ts";

const TARGET = { partition: ORIGINAL, part: PART, generation: GENERATION };

function eventsOf(count: number, valueBytes: number): TestEvent[] {
  return newestFirst(
    Array.from({ length: count }, (_, i) => testEvent(FROM + (i % 90), `id-${i}`, valueBytes)),
  );
}

function allBytes(blocks: readonly StoredBlock[]): Buffer {
  return Buffer.concat(blocks.map(({ bytes }) => bytes));
}

test("blocks and record do not depend on how the events arrived", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyEvents,
      fc.integer({ min: 1, max: 15 }),
      fc.integer({ min: 1, max: 5 }),
      async (events, runEvents, chunkEvents) => {
        const one = await writeEvents(events, "PACKED", runsOf(events, 1, 1));
        const other = await writeEvents(events, "PACKED", runsOf(events, runEvents, chunkEvents));
        deepEqual(other.record, one.record);
        const [blocks, right] = [await storedBlocks(other.store), await storedBlocks(one.store)];
        deepEqual(
          blocks.map(({ key }) => key),
          right.map(({ key }) => key),
        );
        sameBytes(allBytes(blocks), allBytes(right));
      },
    ),
  );
});

test("the record describes what was written, in both layouts alike", async () => {
  const events = eventsOf(100, 1_000);
  const digest = new RangeDigest();
  digest.add(framesOf(events));
  for (const layout of SPLIT_LAYOUTS) {
    const { store, record } = await writeEvents(events, layout);
    const blocks = await storedBlocks(store);
    deepEqual(record, {
      part: PART,
      from: FROM,
      to: TO,
      ...digest.sum(),
      blocks: blocks.length,
      blockBytesMax: Math.max(0, ...blocks.map(({ bytes }) => bytes.length)),
    });
    equal(blocks.length, layout === "PACKED" ? 10 : 0);
  }
});

test("blocks keep to their size, and a larger event has one of its own", async () => {
  const events = newestFirst([...eventsOf(50, 900), testEvent(FROM + 50, "large", 100_000)]);
  const { store } = await writeEvents(events, "PACKED");
  const sizes = (await storedBlocks(store)).map(({ bytes }) => bytes.length);
  const head = 200;
  equal(sizes.filter((size) => size > BLOCK_BYTES_TARGET + head).length, 1);
  ok(sizes.every((size) => size <= 100_000 + 2 * head));
});

test("frames can be given as a span of a chunk", async () => {
  const events = eventsOf(60, 1_000);
  const chunk = framesOf(events);
  const store = await storeWithTable();
  const writer = new PartWriter({ ...TARGET, store, layout: "PACKED" });
  let at = 0;
  for (const { frame, position } of events) {
    await writer.add(chunk, at, at + frame.length, 1, position, position);
    at += frame.length;
    equal(writer.bytes, at);
  }
  equal(writer.events, 60);
  const { record } = await writeEvents(events, "PACKED");
  deepEqual(await writer.finish(FROM, TO), record);
});

for (const layout of SPLIT_LAYOUTS) {
  test(`P9: ${layout}: a caller waits while storage is slow, so little is held`, async () => {
    const store = await storeWithTable();
    const held: PromiseWithResolvers<void>[] = [];
    store.before = () => {
      const gate = Promise.withResolvers<void>();
      held.push(gate);
      return gate.promise;
    };
    const writer = new PartWriter({ ...TARGET, store, layout });
    const runs = runsOf(eventsOf(4_000, 1_000), 50, 50);
    let added = 0;
    const adding = (async () => {
      for (const run of runs) {
        await writer.addRun(run);
        added += run.bytes;
      }
      return writer.finish(FROM, TO);
    })();
    await until(() => held.length === 3);
    // No timers are involved: after a few rounds of the event loop, everything that can run has
    // run.
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
    equal(held.length, 3);
    ok(added < 5 * 256 * 1024 + 100_000, `${added} bytes were accepted`);
    store.before = () => undefined;
    for (const gate of held) gate.resolve();
    equal((await adding).events, 4_000);
  });

  test(`CP17, C8: ${layout}: a part is finished only when all of it is stored`, async () => {
    const store = await storeWithTable();
    const gate = Promise.withResolvers<void>();
    store.before = () => gate.promise;
    const writer = new PartWriter({ ...TARGET, store, layout });
    for (const run of runsOf(eventsOf(500, 1_000), 50, 50)) await writer.addRun(run);
    let finished = false;
    const finishing = writer.finish(FROM, TO).then(() => (finished = true));
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    equal(finished, false);
    gate.resolve();
    await finishing;
  });

  test(`${layout}: a failed append fails the part, and no further append begins`, async () => {
    const store = await storeWithTable();
    let appends = 0;
    const failure = new ServiceError("OUTCOME_UNKNOWN", "planted");
    store.before = () => {
      appends++;
      throw failure;
    };
    const writer = new PartWriter({ ...TARGET, store, layout });
    const add = async (): Promise<void> => {
      for (const run of runsOf(eventsOf(4_000, 1_000), 50, 50)) await writer.addRun(run);
    };
    await rejects(add(), failure);
    ok(appends <= 3);
    await rejects(writer.finish(FROM, TO), failure);
    const before = appends;
    await writer.abort();
    equal(appends, before);
  });

  test(`${layout}: an append that waits for room does not begin after another has failed`, async () => {
    const store = await storeWithTable();
    const failure = new ServiceError("OUTCOME_UNKNOWN", "planted");
    const held: PromiseWithResolvers<void>[] = [];
    store.before = async () => {
      const gate = Promise.withResolvers<void>();
      held.push(gate);
      await gate.promise;
      throw failure;
    };
    const writer = new PartWriter({ ...TARGET, store, layout });
    const adding = (async () => {
      for (const run of runsOf(eventsOf(4_000, 1_000), 50, 50)) await writer.addRun(run);
    })();
    await until(() => held.length === 3);
    // No timers are involved: after a few rounds of the event loop the next append waits for room.
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
    for (const gate of held) gate.resolve();
    await rejects(adding, failure);
    await rejects(writer.finish(FROM, TO), failure);
    equal(held.length, 3);
  });

  test(`${layout}: a part that fails with its last append is not finished`, async () => {
    const store = await storeWithTable();
    const writer = new PartWriter({ ...TARGET, store, layout });
    for (const run of runsOf(eventsOf(10, 1_000), 5, 5)) await writer.addRun(run);
    const failure = new ServiceError("STORAGE_UNAVAILABLE", "planted");
    store.before = () => {
      throw failure;
    };
    await rejects(writer.finish(FROM, TO), failure);
  });
}

test("an abort waits for appends under way and begins none", async () => {
  const store = await storeWithTable();
  const gate = Promise.withResolvers<void>();
  let [begun, aborted] = [0, false];
  store.before = () => {
    begun++;
    return gate.promise;
  };
  const writer = new PartWriter({ ...TARGET, store, layout: "PACKED" });
  for (const run of runsOf(eventsOf(500, 1_000), 50, 50)) await writer.addRun(run);
  const aborting = writer.abort().then(() => (aborted = true));
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  equal(aborted, false);
  gate.resolve();
  await aborting;
  equal(begun, 1);
  await rejects(writer.finish(FROM, TO), /still being written/);
});

test("X14: events out of order, out of range or miscounted are never listed", async () => {
  const events = eventsOf(30, 1_000);
  const runs = runsOf(events, 10, 10);
  const fresh = async (): Promise<PartWriter> =>
    new PartWriter({ ...TARGET, store: await storeWithTable(), layout: "PACKED" });

  const disordered = await fresh();
  await disordered.addRun(runs[1] as Run);
  await rejects(disordered.addRun(runs[0] as Run), /newest first/);
  await rejects(disordered.addRun(runs[1] as Run), /newest first/);

  const repeated = await fresh();
  const [single] = runsOf(events.slice(0, 1), 10, 10);
  await repeated.addRun(single as Run);
  await rejects(repeated.addRun(single as Run), /newest first/);

  for (const [from, to] of [
    [FROM + 1, TO],
    [FROM, FROM + 29],
  ] as const) {
    const writer = await fresh();
    for (const run of runs) await writer.addRun(run);
    await rejects(writer.finish(from, to), /in its range/);
  }

  const [miscounted] = runsOf(events, 30, 30);
  const writer = await fresh();
  await rejects(writer.addRun({ ...(miscounted as Run), count: 29 }), /as many events/);
});
