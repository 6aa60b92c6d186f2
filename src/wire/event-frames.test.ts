import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { utf8 } from "../lib/bytes.ts";
import { EventFrames } from "./event-frames.ts";
import { encodeEvent } from "./event-record.ts";
import { comparePositions, eventsOfRun, frameLength, positionOf } from "./frames.ts";

const anyEvent = fc.record({
  time: fc.oneof(fc.constantFrom(0, 1, 999_999, 1_000_000), fc.nat({ max: 2 ** 52 })),
  id: fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }),
  items: fc.array(
    fc.record({
      key: fc.uint8Array({ minLength: 1, maxLength: 5 }),
      value: fc.uint8Array({ maxLength: 300 }),
    }),
    { maxLength: 3 },
  ),
});

test("events assembled from their parts equal the events that were taken apart", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 200 }),
      fc.array(anyEvent, { minLength: 1, maxLength: 10 }),
      (series, events) => {
        const frames = new EventFrames(series);
        const encoded = events.map(({ time, id, items }) =>
          encodeEvent(series, time, utf8(id), items),
        );
        for (const [i, event] of encoded.entries()) {
          const id = events[i]?.id ?? "";
          const items = Buffer.from(event.bytes.subarray(event.itemsStart, event.end));
          frames.fits(event.time, id, items, 1);
          frames.add(event.time, id, items);
        }
        const run = frames.take();
        equal(run.count, encoded.length);
        equal(
          run.bytes,
          encoded.reduce((sum, event) => sum + frameLength(event.end - event.start), 0),
        );
        const found = [...eventsOfRun(run)];
        deepEqual(
          found.map((event) => Buffer.from(event.bytes.subarray(event.start, event.end))),
          encoded.map((event) => Buffer.from(event.bytes)),
        );
        const [first, last] = [found.at(0), found.at(-1)];
        ok(first !== undefined && last !== undefined);
        equal(comparePositions(run.first, positionOf(first)), 0);
        equal(comparePositions(run.last, positionOf(last)), 0);
        equal(frames.count, 0);
      },
    ),
  );
});

test("the first event fits whatever its size, and the next only within the limit in bytes", () => {
  const frames = new EventFrames(Buffer.from("s"));
  const [id, items] = ["é", Buffer.alloc(100)];
  equal(frames.fits(1, id, items, 1), true);
  frames.add(1, id, items);
  const { bytes } = frames.take();
  frames.fits(1, id, items, 1);
  frames.add(1, id, items);
  equal(frames.fits(1, id, items, 2 * bytes), true);
  equal(frames.fits(1, id, items, 2 * bytes - 1), false);
});
