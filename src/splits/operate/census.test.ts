import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../lib/errors.ts";
import { moveSplit } from "../record/move-split.ts";
import { newSplit } from "../../model/split-moves.ts";
import { ControlWorld, never } from "../../../tests/support/control-world.ts";
import { SplitCensus } from "./census.ts";

async function worldWithSplits(slices: number) {
  const world = new ControlWorld();
  const process = world.start();
  const namespace = await process.namespaces.create("plays", {});
  const names = (await process.namespaces.listTimeSlices("plays")).map(({ name }) => name);
  for (const slice of names.slice(0, slices)) {
    const partition = {
      namespaceId: namespace.id,
      slice,
      seriesId: "hot",
      timeBucket: 0,
      eventBucket: 0,
    };
    const split = {
      partition,
      namespace: "plays",
      epoch: 0,
      bytes: 1,
      events: 1,
      immutable: true,
      detectedAt: 0,
    };
    const record = newSplit(split, { at: 0, by: "test", reason: "seen" });
    await moveSplit(world.catalog, world.clock, undefined, record);
  }
  return world;
}

test("splits are counted by state, and a slice without any costs nothing", async () => {
  const world = await worldWithSplits(1);
  const census = new SplitCensus(world);
  const asked: string[] = [];
  world.catalog.before = (call, space) => {
    if (call === "list" && space.startsWith("splits/")) asked.push(space.split("/")[2] ?? "");
  };
  await census.runOnce(never);
  const detected = [...census.states()].find(({ labels }) => labels[1] === "DETECTED");
  deepEqual(detected, { value: 1, labels: ["plays", "DETECTED"] });
  equal(new Set(asked).size, 1);
});

test("a slice that cannot be read does not hide the others", async () => {
  const world = await worldWithSplits(2);
  const failures: unknown[] = [];
  const census = new SplitCensus({
    catalog: world.catalog,
    store: world.store,
    clock: world.clock,
    onFailed: (error) => failures.push(error),
  });
  let first = true;
  world.store.before = (call) => {
    if (call !== "sliceStats" || !first) return;
    first = false;
    throw new ServiceError("DATA_LOSS", "damaged");
  };
  await census.runOnce(never);
  equal(failures.length, 1);
  const detected = [...census.states()].find(({ labels }) => labels[1] === "DETECTED");
  equal(detected?.value, 2);
});
