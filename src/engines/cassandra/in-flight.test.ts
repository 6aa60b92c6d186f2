import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { InFlight } from "./in-flight.ts";

test("no more run at a time than allowed, in the order they came, and a failure gives its place on", async () => {
  const inFlight = new InFlight(2);
  const ends: (() => void)[] = [];
  const began: number[] = [];
  let running = 0;
  let most = 0;
  const all = Array.from({ length: 7 }, (_, i) =>
    inFlight.run(async () => {
      began.push(i);
      most = Math.max(most, ++running);
      await new Promise<void>((end) => ends.push(end));
      running--;
      if (i % 3 === 0) throw new Error(`${i} fails`);
      return i;
    }),
  );
  const settled = Promise.allSettled(all);
  while (ends.length > 0) {
    ends.shift()?.();
    // Whoever waits is let in by promises alone.
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  }
  const outcomes = await settled;
  equal(most, 2);
  deepEqual(began, [0, 1, 2, 3, 4, 5, 6]);
  equal(outcomes.filter(({ status }) => status === "rejected").length, 3);
  equal(await inFlight.run(() => Promise.resolve("again")), "again");
});
