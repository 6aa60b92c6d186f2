import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture } from "../../tests/support/control-fixture.ts";
import type { TopPartitions } from "../model/top-partition.ts";
import {
  readTopPartitions,
  removeTopPartitions,
  writeTopPartitions,
} from "./top-partition-records.ts";

const SLICE = { namespaceId: "plays-1", slice: "data_20260328" };

function walkAt(asOf: number, count: number): TopPartitions {
  const partitions = Array.from({ length: count }, (_, nth) => {
    return {
      seriesId: `id|${nth}`,
      timeBucket: 1,
      eventBucket: 2,
      bytes: nth,
      events: 1,
      exact: true,
    };
  });
  const totals = { totalBytes: 10_000, totalEvents: 100 };
  return { asOf, endedAt: asOf + 5, complete: true, ...totals, partitions };
}

test("C19: the largest partitions come back in their order, in records of bounded size", async () => {
  const { catalog } = new ControlFixture();
  equal(await readTopPartitions(catalog, SLICE), undefined);
  await writeTopPartitions(catalog, SLICE, walkAt(1_000, 1_234));
  deepEqual(await readTopPartitions(catalog, SLICE), walkAt(1_000, 1_234));
  await writeTopPartitions(catalog, SLICE, walkAt(2_000, 0));
  deepEqual(await readTopPartitions(catalog, SLICE), walkAt(2_000, 0));
});

test("a newer walk replaces an older one whole, and an older one changes nothing", async () => {
  const { catalog } = new ControlFixture();
  await writeTopPartitions(catalog, SLICE, walkAt(2_000, 300));
  await writeTopPartitions(catalog, SLICE, walkAt(1_000, 500));
  deepEqual(await readTopPartitions(catalog, SLICE), walkAt(2_000, 300));
  await writeTopPartitions(catalog, SLICE, walkAt(3_000, 150));
  deepEqual(await readTopPartitions(catalog, SLICE), walkAt(3_000, 150));
  const left = await catalog.list("top-partitions/plays-1/data_20260328", "", 100);
  equal(left.length, 3, "the head and two chunks");
});

test("a walk that a clock far ahead stamped is replaced by the next one", async () => {
  const { catalog } = new ControlFixture();
  await writeTopPartitions(catalog, SLICE, walkAt(86_400_000_000, 300));
  await writeTopPartitions(catalog, SLICE, walkAt(1_000, 150));
  deepEqual(await readTopPartitions(catalog, SLICE), walkAt(1_000, 150));
});

test("a reader that meets a replacement reads again", async () => {
  const { catalog } = new ControlFixture();
  await writeTopPartitions(catalog, SLICE, walkAt(1_000, 300));
  let reads = 0;
  catalog.before = async (call) => {
    if (call !== "read" || reads++ !== 1) return;
    catalog.before = () => undefined;
    await writeTopPartitions(catalog, SLICE, walkAt(2_000, 200));
  };
  deepEqual(await readTopPartitions(catalog, SLICE), walkAt(2_000, 200));
});

test("a dropped slice leaves nothing", async () => {
  const { catalog } = new ControlFixture();
  await writeTopPartitions(catalog, SLICE, walkAt(1_000, 300));
  await removeTopPartitions(catalog, SLICE);
  equal(await readTopPartitions(catalog, SLICE), undefined);
  deepEqual(await catalog.list("top-partitions/plays-1/data_20260328", "", 100), []);
});
