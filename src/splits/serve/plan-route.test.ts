import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { joinedSlices, staticView } from "../../../tests/support/static-view.ts";
import type { ReadMode } from "../../model/read-mode.ts";
import type { RouteRecord, RouteSegment } from "../../model/split.ts";
import type { TrustState } from "./may-serve.ts";
import { planRoute } from "./plan-route.ts";
import type { RouteQuestion } from "./plan-route.ts";

const strategy = { secondsPerTimeSlice: 100, secondsPerTimeBucket: 100, eventBuckets: 1 };
const slices = joinedSlices(0, [strategy]);
const partition = {
  namespaceId: "plays-1",
  slice: "data_0",
  seriesId: "s",
  timeBucket: 0,
  eventBucket: 0,
};

test("ranges follow the segments, in the order of the read, from where the last page ended", () => {
  const told = (change: Partial<RouteQuestion["range"]>): string[] =>
    plan({ range: { from: 10, to: 95, order: "OLDEST_FIRST", after: undefined, ...change } });
  deepEqual(told({}), ["10-40 SPLIT NO", "40-80 SPLIT NO", "80-95 ORIGINAL NO"]);
  deepEqual(told({ order: "NEWEST_FIRST" }), [
    "80-95 ORIGINAL NO",
    "40-80 SPLIT NO",
    "10-40 SPLIT NO",
  ]);
  const id = new Uint8Array([1]);
  deepEqual(told({ after: { time: 50, id } }), ["50-80 SPLIT NO", "80-95 ORIGINAL NO"]);
  deepEqual(told({ after: { time: 50, id }, order: "NEWEST_FIRST" }), [
    "40-51 SPLIT NO",
    "10-40 SPLIT NO",
  ]);
  deepEqual(told({ from: 85 }), ["85-95 ORIGINAL NO"]);
  deepEqual(told({ from: 10, to: 20 }), ["10-20 SPLIT NO"]);
});

const CASES: readonly (readonly [string, Parameters<typeof plan>[0], readonly string[]])[] = [
  ["OFF", { mode: "OFF" }, ["0-80 ORIGINAL NO", "80-100 ORIGINAL NO"]],
  ["the kill switch", { killed: true }, ["0-80 ORIGINAL NO", "80-100 ORIGINAL NO"]],
  ["no young view", { noView: true }, ["0-80 ORIGINAL NO", "80-100 ORIGINAL NO"]],
  ["all of it opened again", { opened: 39 }, ["0-100 ORIGINAL NO"]],
  ["some of it opened again", { opened: 79 }, ["0-40 SPLIT NO", "40-100 ORIGINAL NO"]],
  [
    "some of it opened again, in COMPARE",
    { opened: 79, mode: "COMPARE" },
    ["0-40 ORIGINAL DIGEST", "40-100 ORIGINAL NO"],
  ],
  [
    "time behind it opened again",
    { opened: 80 },
    ["0-40 SPLIT NO", "40-80 SPLIT NO", "80-100 ORIGINAL NO"],
  ],
  ["no route", { route: undefined }, ["0-100 ORIGINAL NO"]],
  ["SHADOW", { mode: "SHADOW" }, ["0-80 ORIGINAL NO", "80-100 ORIGINAL NO"]],
  [
    "SHADOW, sampled",
    { mode: "SHADOW", sampled: true },
    ["0-40 ORIGINAL SIZES", "40-80 ORIGINAL SIZES", "80-100 ORIGINAL NO"],
  ],
  [
    "COMPARE",
    { mode: "COMPARE" },
    ["0-40 ORIGINAL DIGEST", "40-80 ORIGINAL DIGEST", "80-100 ORIGINAL NO"],
  ],
  [
    "SERVE, sampled",
    { sampled: true },
    ["0-40 SPLIT DIGEST", "40-80 SPLIT DIGEST", "80-100 ORIGINAL NO"],
  ],
  [
    "a segment that was not compared here yet",
    { trustStates: ["PROVEN", "UNSEEN"] },
    ["0-40 SPLIT NO", "40-80 ORIGINAL DIGEST", "80-100 ORIGINAL NO"],
  ],
  [
    "the same in SHADOW",
    { mode: "SHADOW", trustStates: ["UNSEEN", "PROVEN"] },
    ["0-40 ORIGINAL DIGEST", "40-80 ORIGINAL NO", "80-100 ORIGINAL NO"],
  ],
  [
    "a quarantined split",
    { trustStates: ["QUARANTINED", "PROVEN"] },
    ["0-40 ORIGINAL NO", "40-80 SPLIT NO", "80-100 ORIGINAL NO"],
  ],
  [
    "an unconfirmed one",
    { confirmed: false },
    ["0-40 SPLIT NO", "40-80 ORIGINAL NO", "80-100 ORIGINAL NO"],
  ],
  [
    "C13, a kind without evidence of its own",
    { kinds: ["PACKED/1 HASH"] },
    ["0-40 ORIGINAL DIGEST", "40-80 ORIGINAL DIGEST", "80-100 ORIGINAL NO"],
  ],
  [
    "C13, a kind with evidence",
    { kinds: ["PACKED/1 HASH", "PACKED/1 EVENT_BUCKETS"] },
    ["0-40 SPLIT NO", "40-80 SPLIT NO", "80-100 ORIGINAL NO"],
  ],
];

for (const [what, change, expected] of CASES) {
  test(`which ranges a read takes from split and original: ${what}`, () =>
    deepEqual(plan(change), expected));
}

test("a route says which kind of split still lacks evidence", () => {
  const { route, fallback } = planned({ kinds: [] });
  match(route.why, /PACKED\/1 EVENT_BUCKETS, is compared until it has evidence/);
  deepEqual([route.route, fallback], ["ORIGINAL_HELD", undefined]);
});

test("the route names what is read", () => {
  const name = (change: Parameters<typeof planned>[0]) => planned(change).route.route;
  equal(name({}), "SPLIT_AND_ORIGINAL");
  equal(name({ range: { from: 0, to: 80, order: "NEWEST_FIRST", after: undefined } }), "SPLIT");
  const behind = { from: 85, to: 95, order: "NEWEST_FIRST", after: undefined } as const;
  equal(name({ range: behind }), "ORIGINAL_NOT_SPLIT");
  equal(planned({}).route.parts, 5);
  equal(planned({ opened: 39 }).fallback, "epoch");
  equal(name({ opened: 39 }), "ORIGINAL_FALLBACK");
  equal(name({ opened: 39, mode: "SHADOW" }), "ORIGINAL_FALLBACK");
  equal(planned({ opened: 79 }).fallback, "epoch");
  equal(name({ opened: 79 }), "SPLIT_AND_ORIGINAL");
  equal(planned({ opened: 79, range: behind }).fallback, undefined);
  equal(planned({ opened: 80 }).fallback, undefined);
  equal(planned({ noView: true }).fallback, "stale");
  equal(name({ noView: true }), "ORIGINAL_FALLBACK");
  // It is no fallback if an operator does not want the split, or if there is none.
  equal(planned({ killed: true }).fallback, undefined);
  equal(planned({ noView: true, route: undefined }).fallback, undefined);
  equal(planned({ trustStates: ["QUARANTINED", "QUARANTINED"] }).fallback, "quarantined");
  equal(name({ trustStates: ["QUARANTINED", "QUARANTINED"] }), "ORIGINAL_FALLBACK");
  equal(name({ trustStates: ["QUARANTINED", "PROVEN"] }), "SPLIT_AND_ORIGINAL");
  equal(planned({ confirmed: false }).fallback, "unconfirmed");
  equal(planned({}).fallback, undefined);
});

test("a split that is held back is distinguished from none, with the reason", () => {
  const told = (given: Given) => {
    const { route, why, parts } = planned(given).route;
    return `${route} ${parts}: ${why}`;
  };
  equal(told({ mode: "OFF" }), "ORIGINAL_HELD 0: the read mode is OFF");
  equal(told({ mode: "SHADOW" }), "ORIGINAL_HELD 0: the read mode is SHADOW");
  equal(told({ mode: "COMPARE" }), "ORIGINAL_HELD 0: the read mode is COMPARE");
  equal(told({ killed: true }), "ORIGINAL_HELD 0: the kill switch is on");
  match(told({ trustStates: ["UNSEEN", "UNSEEN"] }), /^ORIGINAL_HELD 0: .* first read/);
  match(told({ confirmed: false, from: 40 }), /^ORIGINAL_HELD 0: .* confirmed/);
  equal(told({ route: undefined }), "ORIGINAL_NOT_SPLIT 0: the partition is not split");
  const behind = { from: 85, to: 95, order: "NEWEST_FIRST", after: undefined } as const;
  match(told({ mode: "COMPARE", range: behind }), /^ORIGINAL_NOT_SPLIT 0: .* outside the split/);
});

interface Given {
  readonly from?: number;
  readonly mode?: ReadMode;
  /** The floor with which a later epoch began. */
  readonly opened?: number;
  readonly killed?: boolean;
  readonly noView?: boolean;
  readonly route?: RouteRecord | undefined;
  readonly range?: RouteQuestion["range"];
  readonly trustStates?: readonly TrustState[];
  readonly sampled?: boolean;
  readonly confirmed?: boolean;
  readonly kinds?: readonly string[];
}

function plan(given: Given): string[] {
  return planned(given).routeRanges.map(
    ({ from, to, readFrom, compare }) => `${from}-${to} ${readFrom} ${compare}`,
  );
}

function planned(given: Given): ReturnType<typeof planRoute> {
  const { namespace } = staticView({ slices, readMode: given.mode ?? "SERVE" });
  const readMode = { ...namespace.readMode, kinds: given.kinds ?? null };
  const { opened } = given;
  const epochStarts = opened === undefined ? [] : [{ epoch: 2, floor: opened }];
  const current = { ...namespace, readMode, epochStarts };
  const second = given.confirmed ?? true;
  const segments = [segment(0, 40, true), segment(40, 80, second)];
  const route = { partition, of: 1, segments };
  const trustStates = given.trustStates ?? ["PROVEN", "PROVEN"];
  return planRoute({
    namespace: given.noView === true ? undefined : current,
    killed: given.killed ?? false,
    route: "route" in given ? given.route : route,
    range: given.range ?? {
      from: given.from ?? 0,
      to: 100,
      order: "OLDEST_FIRST",
      after: undefined,
    },
    trustOf: ({ from }) => trustStates[from === 0 ? 0 : 1] as TrustState,
    sampled: given.sampled ?? false,
  });
}

function segment(from: number, to: number, confirmed: boolean): RouteSegment {
  const kind = { layout: "PACKED", strategy: "EVENT_BUCKETS" } as const;
  const partRanges = from === 0 ? [{ start: 0, count: 3 }] : [{ start: 4, count: 2 }];
  return {
    from,
    to,
    epoch: 1,
    generation: 1,
    ...kind,
    partRanges,
    bytes: 10,
    events: 1,
    confirmed,
  };
}
