import { equal } from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { OwnerLiveness } from "./owner-liveness.ts";

const LEASE_MS = 10_000;

test("an owner whose fence and counter have not changed for one lease time is dead", async () => {
  const clock = new VirtualClock(0);
  const liveness = new OwnerLiveness(clock, LEASE_MS);
  const sign = { fence: 3, counter: 7 };
  equal(liveness.isDead("split", sign), false);
  await clock.advance(LEASE_MS - 1);
  equal(liveness.isDead("split", sign), false);
  await clock.advance(1);
  equal(liveness.isDead("split", sign), true);
});

test("a counter that moves, or another fence, restarts the lease time", async () => {
  const clock = new VirtualClock(0);
  const liveness = new OwnerLiveness(clock, LEASE_MS);
  for (const sign of [
    { fence: 1, counter: 0 },
    { fence: 1, counter: 1 },
    { fence: 2, counter: 1 },
  ]) {
    equal(liveness.isDead("split", sign), false);
    await clock.advance(LEASE_MS - 1);
    equal(liveness.isDead("split", sign), false);
  }
});

test("each name is watched on its own", async () => {
  const clock = new VirtualClock(0);
  const liveness = new OwnerLiveness(clock, LEASE_MS);
  liveness.isDead("one", { fence: 1, counter: 0 });
  await clock.advance(LEASE_MS);
  equal(liveness.isDead("other", { fence: 1, counter: 0 }), false);
  equal(liveness.isDead("one", { fence: 1, counter: 0 }), true);
});

test("a step of the wall clock makes no owner dead", () => {
  const clock = new VirtualClock(0);
  const liveness = new OwnerLiveness(clock, LEASE_MS);
  liveness.isDead("split", { fence: 1, counter: 0 });
  clock.stepWall(1_000 * LEASE_MS);
  equal(liveness.isDead("split", { fence: 1, counter: 0 }), false);
});

test("beyond the bound, the owner asked about longest ago is forgotten and its lease time starts again", async () => {
  const clock = new VirtualClock(0);
  const liveness = new OwnerLiveness(clock, LEASE_MS, 2);
  const sign = { fence: 1, counter: 0 };
  for (const name of ["a", "b", "c"]) liveness.isDead(name, sign);
  await clock.advance(LEASE_MS);
  equal(liveness.isDead("c", sign), true);
  equal(liveness.isDead("b", sign), true);
  equal(liveness.isDead("a", sign), false);
});
