import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { mapBounded } from "./map-bounded.ts";

const never = new AbortController().signal;

test("results come in order, with at most the given number of calls at a time", async () => {
  let running = 0;
  let most = 0;
  const results: number[] = [];
  const work = async (n: number): Promise<number> => {
    running++;
    most = Math.max(most, running);
    // Later items finish first.
    for (let i = 0; i < 10 - n; i++) await Promise.resolve();
    running--;
    return n * n;
  };
  for await (const result of mapBounded([1, 2, 3, 4, 5, 6], () => 3, never, work)) {
    results.push(result);
  }
  deepEqual(results, [1, 4, 9, 16, 25, 36]);
  equal(most, 3);
});

test("leaving the loop aborts the calls that still run and waits for them", async () => {
  let ended = 0;
  const work = async (n: number, signal: AbortSignal): Promise<number> => {
    if (n > 1) {
      await new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    ended++;
    return n;
  };
  for await (const result of mapBounded([1, 2, 3], () => 3, never, work)) {
    equal(result, 1);
    break;
  }
  equal(ended, 3);
});

test("a failure comes at its place in the order and ends the rest", async () => {
  const seen: number[] = [];
  const work = async (n: number): Promise<number> => {
    if (n === 2) throw new Error("two");
    return n;
  };
  await rejects(async () => {
    for await (const n of mapBounded([1, 2, 3], () => 2, never, work)) seen.push(n);
  }, /two/);
  deepEqual(seen, [1]);
});
