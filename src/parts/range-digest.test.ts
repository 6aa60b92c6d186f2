import { deepEqual, equal, notEqual, throws } from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { anyEvents, framesOf, runsOf, testEvent } from "../../tests/support/part-events.ts";
import { combineDigests, RangeDigest } from "./range-digest.ts";

test("V9: a digest depends on the frames and their order, not on how they were cut", () => {
  fc.assert(
    fc.property(
      anyEvents,
      fc.integer({ min: 1, max: 15 }),
      fc.integer({ min: 1, max: 5 }),
      (events, runEvents, chunkEvents) => {
        const frames = framesOf(events);
        const byRuns = new RangeDigest();
        for (const run of runsOf(events, runEvents, chunkEvents)) byRuns.addRun(run);
        const atOnce = new RangeDigest();
        atOnce.add(frames);
        const digest = createHash("sha256").update(frames).digest("hex").slice(0, 32);
        deepEqual(byRuns.sum(), { events: events.length, bytes: frames.length, digest });
        deepEqual(atOnce.sum(), byRuns.sum());
      },
    ),
  );
});

test("V2: events in another order have another digest", () => {
  const [a, b] = [testEvent(1_001, "a", 5), testEvent(1_000, "b", 5)];
  const [one, other] = [new RangeDigest(), new RangeDigest()];
  one.add(framesOf([a, b]));
  other.add(framesOf([b, a]));
  notEqual(one.digest(), other.digest());
});

test("a digest can be read in between", () => {
  const digest = new RangeDigest();
  const empty = digest.digest();
  digest.add(testEvent(1_000, "a", 5).frame);
  notEqual(digest.digest(), empty);
  equal(digest.digest(), digest.digest());
});

test("half a frame is refused, not counted", () => {
  const { frame } = testEvent(1_000, "a", 5);
  throws(() => new RangeDigest().add(frame.subarray(0, -1)), /whole frames/);
});

test("V2: a segment's checksum depends on each part, its numbers and their order", () => {
  const [a, b] = [
    { digest: "aa", bytes: 1, events: 2 },
    { digest: "bb", bytes: 3, events: 4 },
  ];
  const sums = [
    combineDigests([]),
    combineDigests([a]),
    combineDigests([a, b]),
    combineDigests([b, a]),
    combineDigests([a, { ...b, events: 5 }]),
    combineDigests([{ ...a, bytes: 2 }, b]),
  ];
  equal(new Set(sums).size, sums.length);
});
