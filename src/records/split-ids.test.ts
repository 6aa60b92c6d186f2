import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import { test } from "node:test";
import type { PartitionKey } from "../model/partition.ts";
import { newSplit } from "../model/split-moves.ts";
import { ControlFixture } from "../../tests/support/control-fixture.ts";
import { findSplits, isSplitId, splitIdOf } from "./split-ids.ts";
import { writeSplit } from "./split-records.ts";

const PARTITION: PartitionKey = {
  namespaceId: "plays-1",
  slice: "data_20261114",
  seriesId: "profile:123",
  timeBucket: 7,
  eventBucket: 0,
};

test("an id is short, plain, stable, and differs for every part of a partition's name", () => {
  // People keep ids in tickets: another hash would break them.
  equal(splitIdOf(PARTITION), "c11psr2pyb");
  const others: PartitionKey[] = [
    { ...PARTITION, namespaceId: "plays-2" },
    { ...PARTITION, slice: "data_20261115" },
    { ...PARTITION, seriesId: "profile:124" },
    { ...PARTITION, timeBucket: 8 },
    { ...PARTITION, eventBucket: 1 },
  ];
  for (const other of others) {
    match(splitIdOf(other), /^[0-9a-z]{10}$/);
    notEqual(splitIdOf(other), splitIdOf(PARTITION));
  }
  equal(isSplitId(splitIdOf(PARTITION).toUpperCase()), true);
  equal(isSplitId("profile:123"), false);
});

test("a split is found by its id in one shard of its slice", async () => {
  const { catalog } = new ControlFixture();
  const partitions: PartitionKey[] = [];
  for (const slice of ["data_20261114", "data_20261115", "data_20261116"]) {
    for (let i = 0; i < 40; i++) partitions.push({ ...PARTITION, slice, seriesId: `p:${i}` });
  }
  for (const partition of partitions) await writeSplit(catalog, recordOf(partition));
  const spaces = new Set<string>();
  catalog.before = (call, space) => {
    if (call === "list" && space.startsWith("splits/")) spaces.add(space);
  };
  for (const partition of partitions) {
    spaces.clear();
    const found = await findSplits(catalog, "plays-1", splitIdOf(partition).toUpperCase(), 1_000);
    deepEqual(found, { partitions: [partition], gaveUp: false });
    equal(spaces.size, 1);
  }
  for (const unknown of ["0000000000", "zzzzzzzzzz", "profile", ""]) {
    const found = await findSplits(catalog, "plays-1", unknown, 1_000);
    deepEqual(found, { partitions: [], gaveUp: false });
  }
});

test("a search by id ends at its bound and reports that", async () => {
  const { catalog } = new ControlFixture();
  for (let i = 0; i < 40; i++) {
    await writeSplit(catalog, recordOf({ ...PARTITION, timeBucket: i }));
  }
  const id = splitIdOf({ ...PARTITION, timeBucket: 39 });
  deepEqual(await findSplits(catalog, "plays-1", id, 3), { partitions: [], gaveUp: true });
});

function recordOf(partition: PartitionKey) {
  const seen = {
    namespace: "plays",
    epoch: 0,
    bytes: 1,
    events: 1,
    immutable: true,
    detectedAt: 0,
  };
  return newSplit(
    { partition, ...seen },
    { at: 0, by: "test", cause: "detection", reason: "seen" },
  );
}
