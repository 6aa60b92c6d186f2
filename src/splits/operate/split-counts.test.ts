import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../lib/errors.ts";
import { moveSplit } from "../record/move-split.ts";
import { newSplit } from "../../model/split-moves.ts";
import { ControlFixture, never } from "../../../tests/support/control-fixture.ts";
import { SplitCounts } from "./split-counts.ts";

async function fixtureWithSplits(slices: number) {
  const fixture = new ControlFixture();
  const process = fixture.start();
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
    const record = newSplit(split, { at: 0, by: "test", cause: "detection", reason: "seen" });
    await moveSplit(fixture.catalog, fixture.clock, undefined, record);
  }
  return fixture;
}

test("splits are counted by state, and a slice without any costs nothing", async () => {
  const fixture = await fixtureWithSplits(1);
  const splitCounts = new SplitCounts(fixture);
  const asked: string[] = [];
  fixture.catalog.before = (call, space) => {
    if (call === "list" && space.startsWith("splits/")) asked.push(space.split("/")[2] ?? "");
  };
  await splitCounts.runOnce(never);
  const detected = [...splitCounts.states()].find(({ labels }) => labels[1] === "DETECTED");
  deepEqual(detected, { value: 1, labels: ["plays", "DETECTED"] });
  equal(new Set(asked).size, 1);
});

test("a slice that cannot be read does not hide the others", async () => {
  const fixture = await fixtureWithSplits(2);
  const failures: unknown[] = [];
  const splitCounts = new SplitCounts({
    catalog: fixture.catalog,
    store: fixture.store,
    clock: fixture.clock,
    onFailed: (error) => failures.push(error),
  });
  let first = true;
  fixture.store.before = (call) => {
    if (call !== "sliceStats" || !first) return;
    first = false;
    throw new ServiceError("DATA_LOSS", "damaged");
  };
  await splitCounts.runOnce(never);
  equal(failures.length, 1);
  const detected = [...splitCounts.states()].find(({ labels }) => labels[1] === "DETECTED");
  equal(detected?.value, 2);
});
