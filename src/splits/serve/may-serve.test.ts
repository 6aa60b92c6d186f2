import { equal } from "node:assert/strict";
import { test } from "node:test";
import { FIRST_READ_MODE } from "../../model/read-mode.ts";
import type { RouteSegment } from "../../model/split.ts";
import { fallbackFor, heldRoute, mayServe } from "./may-serve.ts";
import type { ServeFacts } from "./may-serve.ts";

const readMode = { ...FIRST_READ_MODE, since: 0, mode: "SERVE" as const };
const partition = {
  namespaceId: "plays-1",
  slice: "data_0",
  seriesId: "s",
  timeBucket: 0,
  eventBucket: 0,
};
const SEGMENT: RouteSegment = {
  from: 0,
  to: 10,
  epoch: 1,
  generation: 3,
  layout: "PACKED",
  strategy: "EVENT_BUCKETS",
  partRanges: [{ start: 0, count: 1 }],
  bytes: 1,
  events: 1,
  confirmed: true,
};
const ROUTE = { partition, of: 1, segments: [SEGMENT] };
const FACTS: ServeFacts = {
  namespace: { epochStarts: [], readMode },
  killed: false,
  route: ROUTE,
};

function verdict(
  change: Partial<ServeFacts>,
  trust: Parameters<typeof mayServe>[2] = "PROVEN",
): ReturnType<typeof mayServe> {
  return mayServe({ ...FACTS, ...change }, SEGMENT, trust);
}

test("a segment is served only if nothing holds it back", () => {
  equal(verdict({}), "YES");
  equal(verdict({ route: undefined }), "NOT_SPLIT");
  equal(verdict({ route: { ...ROUTE, segments: [] } }), "TAKEN_BACK");
  const copiedAgain = { ...SEGMENT, generation: 4 };
  equal(verdict({ route: { ...ROUTE, segments: [copiedAgain] } }), "TAKEN_BACK");
  equal(verdict({ killed: true }), "KILL_SWITCH");
  equal(verdict({ namespace: undefined }), "STALE");
  const opened = (epoch: number, floor: number) =>
    verdict({ namespace: { epochStarts: [{ epoch, floor }], readMode } });
  equal(opened(2, SEGMENT.to - 1), "EPOCH");
  equal(opened(2, SEGMENT.to), "YES");
  equal(opened(1, 0), "YES");
  for (const mode of ["OFF", "SHADOW", "COMPARE"] as const) {
    equal(verdict({ namespace: { epochStarts: [], readMode: { ...readMode, mode } } }), "MODE");
  }
  equal(verdict({}, "QUARANTINED"), "QUARANTINED");
  equal(verdict({ namespace: { epochStarts: [], readMode: { ...readMode, kinds: [] } } }), "KIND");
  const unconfirmed = { ...SEGMENT, confirmed: false };
  equal(verdict({ route: { ...ROUTE, segments: [unconfirmed] } }), "UNCONFIRMED");
  equal(verdict({}, "UNSEEN"), "FIRST_COMPARISON");
});

test("a decision holds a split back, trouble makes the read fall back", () => {
  const told = (cause: Parameters<typeof heldRoute>[0]) => heldRoute(cause, FACTS, SEGMENT).route;
  for (const cause of ["KILL_SWITCH", "MODE", "KIND", "UNCONFIRMED", "FIRST_COMPARISON"] as const) {
    equal(told(cause), "ORIGINAL_HELD");
  }
  for (const cause of ["STALE", "EPOCH", "QUARANTINED"] as const) {
    equal(told(cause), "ORIGINAL_FALLBACK");
    equal(fallbackFor(cause), cause.toLowerCase());
  }
  equal(told("NOT_SPLIT"), "ORIGINAL_NOT_SPLIT");
});
