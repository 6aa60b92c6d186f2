import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { settle, VirtualClock } from "../../tests/support/virtual-clock.ts";
import { SerialQueue } from "./serial-queue.ts";
import type { SerialQueueOptions } from "./serial-queue.ts";

interface Item {
  readonly id: number;
  /** How often the item fails before it succeeds. */
  readonly failures: number;
}

function queueOptions(clock: VirtualClock): SerialQueueOptions {
  return {
    clock,
    random: { bytes: (length) => new Uint8Array(length), fraction: () => 0.5 },
    backOff: { firstMs: 10, maxMs: 80 },
  };
}

test("every item is done once, in order, however often it fails", async () => {
  const failures = fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(failures, async (counts) => {
      const clock = new VirtualClock(0);
      const queue = new SerialQueue<Item>();
      const done: number[] = [];
      const tried = new Map<number, number>();
      const stopping = new AbortController();
      const running = queue.run(
        {
          work: async ({ id, failures }) => {
            const attempts = (tried.get(id) ?? 0) + 1;
            tried.set(id, attempts);
            if (attempts <= failures) throw new Error("again");
          },
          done: ({ id }) => void done.push(id),
          failed: (count) => assert.equal(count, queue.failures),
        },
        queueOptions(clock),
        stopping.signal,
      );
      for (const [id, failures] of counts.entries()) queue.push({ id, failures });
      await clock.advance(counts.length * 6 * 80);
      stopping.abort();
      await running;
      assert.deepEqual(
        done,
        counts.map((_, id) => id),
      );
      assert.equal(queue.length, 0);
    }),
    { numRuns: 30 },
  );
});

test("the item under way at a stop is first in the next run", async () => {
  const clock = new VirtualClock(0);
  const queue = new SerialQueue<Item>();
  const [first, second] = [
    { id: 1, failures: 0 },
    { id: 2, failures: 0 },
  ];
  queue.push(first);
  queue.push(second);
  const stopping = new AbortController();
  const stopped = queue.run(
    {
      work: (_, signal) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("stopped")));
        }),
      done: () => assert.fail("nothing is done"),
      failed: () => assert.fail("stopping is not a failure"),
    },
    queueOptions(clock),
    stopping.signal,
  );
  await settle();
  stopping.abort();
  await stopped;
  assert.equal(queue.length, 2);

  const done: number[] = [];
  const again = new AbortController();
  const running = queue.run(
    { work: async () => undefined, done: ({ id }) => void done.push(id), failed: () => undefined },
    queueOptions(clock),
    again.signal,
  );
  await settle();
  again.abort();
  await running;
  assert.deepEqual(done, [1, 2]);
});
