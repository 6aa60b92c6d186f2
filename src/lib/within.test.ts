import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { within } from "./within.ts";

test("a result in time is returned, and nothing is left waiting", async () => {
  const clock = new VirtualClock(0);
  assert.equal(await within(clock, 10, "it", Promise.resolve(7)), 7);
  await assert.rejects(within(clock, 10, "it", Promise.reject(new Error("failed"))), /failed/);
  assert.equal(clock.sleepers, 0);
});

test("a wait that takes too long fails with the name of the work", async () => {
  const clock = new VirtualClock(0);
  const waiting = within(clock, 10, "asking", new Promise(() => undefined));
  const told = assert.rejects(waiting, /asking took longer than 10 ms/);
  await clock.advance(10);
  await told;
});
