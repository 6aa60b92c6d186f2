import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import {
  NO_POSITION,
  readWalkPosition,
  removeWalkPosition,
  writeWalkPosition,
} from "./walk-positions.ts";
import type { TallyState, WalkPosition } from "./walk-positions.ts";

const SLICE = { namespaceId: "plays-1", slice: "data_20260328" };

function positionOf(ids: number, after: string): WalkPosition {
  const sizes = { count: ids, total: ids, min: 1, max: 1, buckets: [[1, ids] as [number, number]] };
  const group: TallyState["sampled"] = {
    bytes: sizes,
    events: sizes,
    timeBuckets: {
      bytes: sizes,
      events: sizes,
      widened: [{ seconds: 86_400, bytes: sizes }],
      kept: 0.5,
      ids: Array.from({ length: ids }, (_, id) => [`profile:${id}`, [[3, 1_000, 1]]]),
    },
  };
  const tally: TallyState = {
    share: 1,
    knownIds: ["wide"],
    sampled: group,
    known: group,
    top: [{ seriesId: "a", timeBucket: 1, eventBucket: 0, bytes: 9, events: 1, exact: true }],
    lastId: "a",
    walked: ids,
    notCounted: 0,
    estimated: 0,
    failed: 0,
  };
  return { asOf: 5, epoch: 1, sealed: true, after, spentMs: 1_000, tally };
}

test("a position is read as it was saved, also a large one; the last save replaces the others", async () => {
  const catalog = new MemoryCatalog();
  equal(await readWalkPosition(catalog, SLICE), undefined);
  const first = await writeWalkPosition(catalog, SLICE, positionOf(10_000, "x"), NO_POSITION);
  ok(first !== undefined);
  const { stored, ...position } = (await readWalkPosition(catalog, SLICE)) ?? { stored: undefined };
  deepEqual(stored, first);
  deepEqual(position, positionOf(10_000, "x"));
  ok(await writeWalkPosition(catalog, SLICE, positionOf(2, "y"), first));
  equal((await readWalkPosition(catalog, SLICE))?.after, "y");
  equal((await catalog.list("walk-positions/plays-1/data_20260328", "", 99)).length, 2);
  await removeWalkPosition(catalog, SLICE);
  equal(await readWalkPosition(catalog, SLICE), undefined);
});

test("a process that another one has overtaken saves nothing", async () => {
  const catalog = new MemoryCatalog();
  const first = await writeWalkPosition(catalog, SLICE, positionOf(1, "x"), NO_POSITION);
  ok(first !== undefined);
  ok(await writeWalkPosition(catalog, SLICE, positionOf(2, "y"), first));
  equal(await writeWalkPosition(catalog, SLICE, positionOf(3, "z"), first), undefined);
  const { stored: _, ...left } = (await readWalkPosition(catalog, SLICE)) ?? { stored: undefined };
  deepEqual(left, positionOf(2, "y"));
});
