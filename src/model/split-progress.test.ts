import assert from "node:assert/strict";
import { test } from "node:test";
import { newSplit } from "./split-moves.ts";
import { splitProgress } from "./split-progress.ts";
import type { Segment, SplitRecord } from "./split.ts";

const SEGMENT: Segment = {
  from: 0,
  to: 100,
  epoch: 0,
  state: "SPLITTING",
  generation: 0,
  layout: "PACKED",
  strategy: "EVENT_BUCKETS",
  why: "",
  partBytes: 10,
  partsPlanned: 0,
  expected: { bytes: 80, events: 8, exact: true },
  partRanges: [{ start: 0, count: 2 }],
  copiedTo: 60,
  bytes: 20,
  events: 2,
  checksum: "",
  confirmedAt: null,
};

function recordOf(changes: Partial<SplitRecord>): SplitRecord {
  const split = newSplit(
    {
      partition: { namespaceId: "n", slice: "s", seriesId: "i", timeBucket: 0, eventBucket: 0 },
      namespace: "plays",
      epoch: 0,
      bytes: 50,
      events: 5,
      immutable: true,
      detectedAt: 0,
    },
    { at: 0, by: "w", cause: "detection", reason: "" },
  );
  return { ...split, state: "SPLITTING", segments: [SEGMENT], ...changes };
}

function owner(step: "COPY" | "VALIDATE" | "CONFIRM", bytes: number, events: number) {
  return { by: "w", heartbeat: 1, progress: { step, bytes, events } };
}

test("a copy has come as far as its checkpoint, or as its owner says since", () => {
  const exact = { step: "COPY", bytesTotal: 80, eventsTotal: 8, totalExact: true };
  assert.deepEqual(splitProgress(recordOf({})), { ...exact, bytesDone: 20, eventsDone: 2 });
  const read = recordOf({ owner: owner("COPY", 35, 3) });
  assert.deepEqual(splitProgress(read), { ...exact, bytesDone: 35, eventsDone: 3 });
  // Of an earlier step, or of an earlier version.
  const other = recordOf({ owner: owner("VALIDATE", 35, 3) });
  assert.deepEqual(splitProgress(other), { ...exact, bytesDone: 20, eventsDone: 2 });
  const parked = recordOf({ state: "PARKED" });
  assert.deepEqual(splitProgress(parked), { ...exact, bytesDone: 20, eventsDone: 2 });
});

test("a total that is only a lower bound says so and is never below what is done", () => {
  const segments = [{ ...SEGMENT, expected: undefined, bytes: 70, events: 4 }];
  assert.deepEqual(splitProgress(recordOf({ segments })), {
    step: "COPY",
    bytesDone: 70,
    bytesTotal: 70,
    eventsDone: 4,
    eventsTotal: 5,
    totalExact: false,
  });
});

test("reading back and confirming have the copied amount as their total", () => {
  const copied = { ...SEGMENT, bytes: 80, events: 8, copiedTo: 0 };
  const total = { bytesTotal: 80, eventsTotal: 8, totalExact: true };
  const validating = recordOf({
    state: "VALIDATING",
    segments: [{ ...copied, state: "VALIDATING" }],
    owner: owner("VALIDATE", 30, 3),
  });
  assert.deepEqual(splitProgress(validating), {
    step: "VALIDATE",
    bytesDone: 30,
    eventsDone: 3,
    ...total,
  });
  const completed = [{ ...copied, state: "COMPLETED" as const }];
  const confirming = recordOf({ state: "COMPLETED", segments: completed });
  assert.deepEqual(splitProgress(confirming), {
    step: "CONFIRM",
    bytesDone: 0,
    eventsDone: 0,
    ...total,
  });
});

test("nothing is under way without a plan, after a failure, and when all is confirmed", () => {
  assert.equal(splitProgress(recordOf({ segments: [] })), undefined);
  assert.equal(splitProgress(recordOf({ state: "INVALIDATED" })), undefined);
  const failed = [{ ...SEGMENT, state: "FAILED" as const }];
  assert.equal(splitProgress(recordOf({ segments: failed })), undefined);
  const done = [{ ...SEGMENT, state: "COMPLETED" as const, confirmedAt: 5 }];
  assert.equal(splitProgress(recordOf({ state: "COMPLETED", segments: done })), undefined);
});
