import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { utf8 } from "../lib/bytes.ts";
import type { Order } from "../ports/event-store.ts";
import { encodeEvent } from "../wire/event-record.ts";
import {
  comparePositions,
  eventsOfRun,
  frameLength,
  positionOf,
  writeFrame,
} from "../wire/frames.ts";
import type { Position, Run } from "../wire/frames.ts";
import { MergedRuns } from "./merge-runs.ts";

const anyPosition = fc.tuple(fc.nat(20), fc.constantFrom("a", "b", "ab", "\u{1F600}", "\uFFFD"));

const anySources = fc.array(
  fc.record({
    positions: fc.uniqueArray(anyPosition, { maxLength: 30, selector: String }),
    /** How many events a run of this source has, and how many of them are in a chunk. */
    runEvents: fc.integer({ min: 1, max: 7 }),
    chunkEvents: fc.integer({ min: 1, max: 3 }),
  }),
  { minLength: 1, maxLength: 5 },
);

test("X14: a merge gives every identity once, in total order, in both directions", async () => {
  await fc.assert(
    fc.asyncProperty(
      anySources,
      fc.constantFrom<Order>("OLDEST_FIRST", "NEWEST_FIRST"),
      fc.integer({ min: 1, max: 10 }),
      async (inputs, order, runEventsMax) => {
        const sign = order === "OLDEST_FIRST" ? 1 : -1;
        const sources = inputs.map(({ positions, runEvents, chunkEvents }) => {
          const sorted = positions
            .map(([time, id]) => ({ time, id: utf8(id) }))
            .toSorted((a, b) => sign * comparePositions(a, b));
          const runs = inGroups(sorted, runEvents).map((group) => runOf(group, chunkEvents));
          return { next: async () => runs.shift() };
        });
        const merged = new MergedRuns(sources, order, runEventsMax);
        const seen: Position[] = [];
        for (let run = await merged.next(); run !== undefined; run = await merged.next()) {
          ok(run.count <= runEventsMax);
          const positions = [...eventsOfRun(run)].map(positionOf);
          equal(positions.length, run.count);
          equal(comparePositions(positions[0] as Position, run.first), 0);
          equal(comparePositions(positions.at(-1) as Position, run.last), 0);
          seen.push(...positions);
        }
        const expected = new Map(inputs.flatMap((i) => i.positions).map((p) => [String(p), p]));
        deepEqual(
          seen.map(({ time, id }) => [time, Buffer.from(id).toString()]),
          [...expected.values()]
            .map(([time, id]) => ({ time, id: utf8(id) }))
            .toSorted((a, b) => sign * comparePositions(a, b))
            .map(({ time, id }) => [time, Buffer.from(id).toString()]),
        );
      },
    ),
  );
});

function runOf(positions: readonly Position[], chunkEvents: number): Run {
  const chunks = inGroups(positions, chunkEvents).map((group) =>
    Buffer.concat(
      group.map(({ time, id }) => {
        const event = encodeEvent(utf8("s"), time, id, []);
        const frame = Buffer.alloc(frameLength(event.end));
        writeFrame(frame, 0, event);
        return frame;
      }),
    ),
  );
  return {
    chunks,
    count: positions.length,
    bytes: chunks.reduce((sum, chunk) => sum + chunk.length, 0),
    first: positions[0] as Position,
    last: positions.at(-1) as Position,
  };
}

function inGroups<T>(items: readonly T[], size: number): T[][] {
  const groups: T[][] = [];
  for (let i = 0; i < items.length; i += size) groups.push(items.slice(i, i + size));
  return groups;
}
