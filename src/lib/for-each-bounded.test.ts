import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { forEachBounded } from "./for-each-bounded.ts";

test("every item is processed once, with at most the given number at a time", async () => {
  let [running, most] = [0, 0];
  const seen: number[] = [];
  const work = async (n: number): Promise<void> => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    seen.push(n);
    running--;
  };
  await forEachBounded(
    Array.from({ length: 20 }, (_, n) => n),
    work,
    3,
  );
  deepEqual(
    seen.toSorted((a, b) => a - b),
    Array.from({ length: 20 }, (_, n) => n),
  );
  equal(most, 3);
});

test("after a failure no further item begins, and running items are awaited", async () => {
  const begun: number[] = [];
  const ended: number[] = [];
  const slow = Promise.withResolvers<void>();
  const work = async (n: number): Promise<void> => {
    begun.push(n);
    if (n === 1) throw new Error("one fails");
    await slow.promise;
    ended.push(n);
  };
  let over = false;
  const all = forEachBounded([0, 1, 2, 3], work, 2).finally(() => (over = true));
  const outcome = rejects(all, /one fails/);
  await new Promise((resolve) => setImmediate(resolve));
  deepEqual(begun, [0, 1]);
  equal(over, false);
  slow.resolve();
  await outcome;
  deepEqual(ended, [0]);
  deepEqual(begun, [0, 1]);
});

test("an empty list calls nothing", async () => {
  await forEachBounded([], () => Promise.reject(new Error("never called")));
});
