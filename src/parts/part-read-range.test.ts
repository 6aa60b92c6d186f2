import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import type { RouteSegment } from "../model/split.ts";
import { partReadRange } from "./part-read-range.ts";

const SEGMENT: RouteSegment = {
  from: 0,
  to: 10,
  epoch: 0,
  generation: 0,
  layout: "PACKED",
  strategy: "EVENT_BUCKETS",
  partRanges: [],
  bytes: 0,
  events: 0,
  confirmed: true,
};

test("V4, C5: parts are read by a majority also where the namespace is EVENTUAL, and at ALL where a read asks for that", () => {
  const consistencyFor = (consistency: "EVENTUAL" | "READ_YOUR_WRITES" | "ALL"): unknown =>
    partReadRange(
      {
        from: 0,
        to: 10,
        order: "NEWEST_FIRST",
        after: undefined,
        runEventsMax: 1,
        runBytesMax: 1,
        level: { consistency, targetMs: 1, maxMs: 1 },
      },
      SEGMENT,
    ).level?.consistency;
  equal(consistencyFor("EVENTUAL"), "READ_YOUR_WRITES");
  equal(consistencyFor("READ_YOUR_WRITES"), "READ_YOUR_WRITES");
  equal(consistencyFor("ALL"), "ALL");
});

test("C9: a part without blocks is read whole, because only then is it proven", () => {
  const range = {
    from: 0,
    to: 10,
    order: "NEWEST_FIRST",
    after: undefined,
    runEventsMax: 1,
    runBytesMax: 1,
  } as const;
  ok((partReadRange(range, SEGMENT).subrangesAhead ?? 0) > 0);
  equal(partReadRange(range, { ...SEGMENT, layout: "ROWS" }).subrangesAhead, undefined);
});

test("P9, C20: a read of parts holds no more than two fetches", () => {
  const range = {
    from: 0,
    to: 10,
    order: "NEWEST_FIRST",
    after: undefined,
    runEventsMax: 10_000,
    runBytesMax: 512 << 10,
  } as const;
  const { runBytesMax, subrangeBytes = 0, subrangesAhead = 0 } = partReadRange(range, SEGMENT);
  ok((1 + subrangesAhead) * subrangeBytes <= 2 * range.runBytesMax);
  // In use, behind it, and the store's own fetch ahead.
  ok(3 * runBytesMax <= 2 * range.runBytesMax);
});

test("C20: a page fetches what it wants at once and nothing ahead; a longer read halves its fetches, as it holds more of them", () => {
  const range = {
    from: 0,
    to: 10,
    order: "NEWEST_FIRST",
    after: undefined,
    runEventsMax: 1_000,
    runBytesMax: 512 * 1024,
  } as const;
  const segment = { ...SEGMENT, bytes: 300_000, events: 1_000 };
  const page = partReadRange({ ...range, eventsWanted: 1_000 }, segment);
  equal(page.onDemand, true);
  equal(page.firstBytes, 300_000);
  equal(page.runBytesMax, 512 * 1024);
  const long = partReadRange(range, segment);
  equal(long.onDemand, undefined);
  equal(long.runBytesMax, 256 * 1024);
});
