import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import type { WidthMap } from "../model/width-map.ts";
import { readWidthMap, removeWidthMap, writeWidthMap } from "./width-map-records.ts";

const SLICE = { namespaceId: "plays-1", slice: "data_20260328" };

function mapAt(asOf: number, cells: number): WidthMap {
  const bySize = Array.from({ length: cells }, (_, cell) => [cell, 1, 2, 3, 4] as const);
  return {
    asOf,
    endedAt: asOf + 5,
    sealed: true,
    complete: true,
    sampleShare: 1,
    omissions: { notCounted: 0, estimated: 0, failed: 0 },
    shape: { columns: 24, bucketsPerColumn: 1 },
    sizes: { count: 1, total: 2, min: 2, max: 2, buckets: [[2, 1]] },
    totalEvents: 3,
    grids: { bySize, byHash: bySize.slice(0, 10) },
  };
}

test("C19: a width map comes back as it was stored, in records of bounded size", async () => {
  const catalog = new MemoryCatalog();
  equal(await readWidthMap(catalog, SLICE), undefined);
  await writeWidthMap(catalog, SLICE, mapAt(1_000, 15_500));
  deepEqual(await readWidthMap(catalog, SLICE), mapAt(1_000, 15_500));
  for (const { value } of await catalog.list("width-maps/plays-1/data_20260328", "", 100)) {
    ok(value.length < 200_000);
  }
});

test("a newer walk replaces the map, an older one does not, and it goes with its slice", async () => {
  const catalog = new MemoryCatalog();
  await writeWidthMap(catalog, SLICE, mapAt(2_000, 3));
  await writeWidthMap(catalog, SLICE, mapAt(1_000, 9));
  deepEqual(await readWidthMap(catalog, SLICE), mapAt(2_000, 3));
  await writeWidthMap(catalog, SLICE, mapAt(3_000, 0));
  deepEqual(await readWidthMap(catalog, SLICE), mapAt(3_000, 0));
  await removeWidthMap(catalog, SLICE);
  equal(await readWidthMap(catalog, SLICE), undefined);
});
