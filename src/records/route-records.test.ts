import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { movedSplit, newSplit } from "../model/split-moves.ts";
import { coveredTo, PARTS_PER_PARTITION } from "../model/split.ts";
import type { Segment, SplitRecord } from "../model/split.ts";
import { moveSplit } from "../splits/record/move-split.ts";
import { readRoute } from "./route-records.ts";
import { keyOf, spaceOf } from "./split-spaces.ts";

const partition = {
  namespaceId: "plays-1",
  slice: "data_20260328_0",
  seriesId: "s",
  timeBucket: 0,
  eventBucket: 0,
};

function segmentOf(nth: number): Segment {
  return {
    from: nth * 100,
    to: (nth + 1) * 100,
    epoch: 0,
    state: "COMPLETED",
    generation: nth,
    layout: "PACKED",
    strategy: "EVENT_BUCKETS",
    why: "because ".repeat(100),
    partBytes: 8_388_608,
    partsPlanned: 0,
    partRanges: [{ start: nth * 10_000, count: 10_000 }],
    copiedTo: nth * 100,
    bytes: 80_000_000_000,
    events: 500_000_000,
    checksum: "0".repeat(32),
    confirmedAt: 1,
  };
}

function splitWith(segments: readonly Segment[]): SplitRecord {
  const split = {
    partition,
    namespace: "plays",
    epoch: 0,
    bytes: 1,
    events: 1,
    immutable: true,
    detectedAt: 0,
  };
  let record = newSplit(split, { at: 0, by: "w", cause: "detection", reason: "a read saw it" });
  for (let at = 0; at < 100; at++) {
    const why = { at, by: "w", cause: "waiting", reason: "words ".repeat(50) } as const;
    record = movedSplit(record, "PARKED", why);
  }
  return { ...record, segments };
}

test("C19: a route is small, however many parts there are and however long the history is", async () => {
  const catalog = new MemoryCatalog();
  const segments = Array.from({ length: 10 }, (_, nth) => segmentOf(nth));
  await moveSplit(catalog, new VirtualClock(0), undefined, splitWith(segments));
  const stored = await catalog.read(spaceOf("routes", partition), keyOf(partition));
  ok(segments.length * 10_000 < PARTS_PER_PARTITION);
  ok((stored?.value.length ?? Infinity) < 2_500, `${stored?.value.length} characters`);
  equal((await readRoute(catalog, partition))?.segments.length, 10);
});

test("C10: a route ends before the first segment that is not completed, or where one is missing", async () => {
  const [first, second, third] = [segmentOf(0), segmentOf(1), segmentOf(2)];
  const failed: Segment = { ...second, state: "FAILED" };
  for (const [segments, expected] of [
    [
      [first, second, third],
      [100, 200, 300],
    ],
    [[first, failed], [100]],
    [[first, failed, third], [100]],
    [[first, third], [100]],
    [[failed], []],
    [[failed, third], []],
  ] as const) {
    const catalog = new MemoryCatalog();
    const split = splitWith(segments);
    await moveSplit(catalog, new VirtualClock(0), undefined, split);
    const ends = (await readRoute(catalog, partition))?.segments.map(({ to }) => to) ?? [];
    deepEqual(ends, expected);
    equal(coveredTo(split, 0, { epochStarts: [] }), expected.at(-1) ?? 0);
  }
});
