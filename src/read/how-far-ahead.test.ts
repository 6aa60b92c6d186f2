import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { howFarAhead } from "./how-far-ahead.ts";
import type { AheadFacts } from "./how-far-ahead.ts";

const PAGE: AheadFacts = {
  fanOut: 8,
  emptyFanOut: 8,
  emptyBuckets: 0,
  ended: 1,
  endedBytes: 10_000,
  returned: { events: 40, bytes: 10_000 },
  room: { events: 60, bytes: 3_000_000 },
  streaming: false,
  bytesMax: 16 << 20,
};
const STREAM: AheadFacts = {
  ...PAGE,
  ended: 0,
  endedBytes: 0,
  returned: { events: 0, bytes: 0 },
  room: { events: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY },
};

test("a page reads nothing ahead in its first bucket, then as many buckets as fill it", () => {
  equal(howFarAhead({ ...PAGE, ended: 0, returned: { events: 0, bytes: 0 } }), 0);
  equal(howFarAhead(PAGE), 1, "two buckets of 40 for 60 events: the present one and one more");
  equal(howFarAhead({ ...PAGE, room: { events: 40, bytes: 3_000_000 } }), 0);
  equal(howFarAhead({ ...PAGE, room: { events: 1_000, bytes: 25_000 } }), 2, "bytes fill it too");
  equal(howFarAhead({ ...PAGE, room: { events: 9_000, bytes: 3_000_000 } }), 7);
  equal(howFarAhead({ ...PAGE, returned: { events: 0, bytes: 0 } }), 7, "a filter drops all");
});

test("a stream reads ahead when its caller has taken pages, and with a limit only as far as that", () => {
  equal(howFarAhead(STREAM), 0);
  equal(howFarAhead({ ...STREAM, streaming: true }), 7);
  const limited = { ...STREAM, streaming: true, room: { ...STREAM.room, events: 100 } };
  equal(howFarAhead(limited), 0, "the first bucket may have them all");
  const ended = { ...limited, ended: 2, endedBytes: 20_000, returned: { events: 80, bytes: 1 } };
  equal(howFarAhead(ended), 2);
});

test("large buckets are read a few at a time, so that they fit whole", () => {
  const large = { ...STREAM, streaming: true, ended: 3, endedBytes: 3 * (4 << 20) };
  equal(howFarAhead({ ...large, returned: { events: 9, bytes: 9 } }), 4);
  equal(howFarAhead({ ...large, endedBytes: 3e9, returned: { events: 9, bytes: 9 } }), 1);
});

test("empty buckets are read the further ahead the more of them there are", () => {
  for (const [emptyBuckets, ahead] of [
    [1, 1],
    [3, 3],
    [100, 7],
  ] as const) {
    equal(howFarAhead({ ...PAGE, emptyBuckets }), ahead);
    equal(howFarAhead({ ...PAGE, emptyBuckets, emptyFanOut: 1 }), 0, "where a search is cheaper");
  }
});

test("no read reads more buckets ahead than its fan-out allows", () => {
  const amount = fc.record({ events: fc.nat(), bytes: fc.nat() });
  fc.assert(
    fc.property(
      fc.record({
        fanOut: fc.integer({ min: 1, max: 64 }),
        emptyFanOut: fc.integer({ min: 1, max: 64 }),
        emptyBuckets: fc.nat(100),
        ended: fc.nat(100),
        endedBytes: fc.nat(),
        returned: amount,
        room: amount,
        streaming: fc.boolean(),
        bytesMax: fc.nat(1 << 26),
      }),
      (facts) => {
        const ahead = howFarAhead(facts);
        const most = facts.emptyBuckets > 0 ? facts.emptyFanOut : facts.fanOut;
        ok(Number.isInteger(ahead) && ahead >= 0 && ahead < most, `${ahead}`);
        if (facts.ended === 0 && facts.emptyBuckets === 0) equal(ahead, 0);
      },
    ),
  );
});
