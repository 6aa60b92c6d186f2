/** Each criterion is monotone in what it measures: more of it never gives a better verdict. */
import { equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { adviceOn, sampleOf, VIEW_ROLES } from "../../../tests/support/advise-table.ts";
import type { Measured } from "../measure.ts";
import { DEFAULT_LIMITS } from "../limits.ts";
import type { Query } from "../query.ts";
import { VERDICTS } from "./criterion.ts";
import type { Criterion, CriterionName, JudgeContext, Verdict } from "./criterion.ts";
import { CRITERION_TABLE } from "./table.ts";

const { judged, facts } = adviceOn(await sampleOf([{ video: "v", id: "1", at: 1_700_000_000 }]));
const [first] = judged;
ok(first !== undefined);
const BASE: Measured = first.measured;
const CONTEXT: JudgeContext = {
  roles: VIEW_ROLES,
  facts: { ...facts, hasDeletes: true },
  limits: DEFAULT_LIMITS,
};

function criterion(name: CriterionName): Criterion {
  const found = CRITERION_TABLE.find((each) => each.name === name);
  ok(found !== undefined);
  return found;
}

function query(of: Partial<Measured["find"]>): Measured {
  return { ...BASE, queries: [{ ...BASE.find, query: ASKED, served: true, ...of }] };
}

const [asked] = BASE.queries;
ok(asked !== undefined);
const ASKED: Query = { ...asked.query, order: "NEWEST_FIRST" };

/** How a measured number makes a measured strategy. */
const MEASURES: readonly (readonly [CriterionName, string, (value: number) => Measured])[] = [
  [
    "SIZE_LIMIT",
    "the largest partition",
    (value) => ({ ...BASE, sizes: { ...BASE.sizes, fill: { p50: 0, p99: 0, max: value } } }),
  ],
  [
    "SIZE_LIMIT",
    "rows beyond the limit",
    (value) => ({
      ...BASE,
      sizes: {
        ...BASE.sizes,
        fill: { p50: 0, p99: 0, max: 2 },
        rowsBeyondShare: Math.min(1, value / 1e6),
      },
    }),
  ],
  ["OVER_SHRINKING", "calls", (value) => query({ calls: 1 + value, needed: 1 })],
  ["KNOWN_KEYS", "unknown values", (value) => ({ ...BASE, unknownValues: value })],
  [
    "HOT_SPOTS",
    "the busiest partition",
    (value) => ({
      ...BASE,
      hotSpots: { ...BASE.hotSpots, peakPerSecond: value, nodePerSecond: 20, hotShare: 0.1 },
    }),
  ],
  [
    "HOT_SPOTS",
    "rows written to a hot partition",
    (value) => ({
      ...BASE,
      hotSpots: {
        ...BASE.hotSpots,
        peakPerSecond: 1e6,
        nodePerSecond: 20,
        hotShare: Math.min(1, value / 1e6),
      },
    }),
  ],
  [
    "TOMBSTONES",
    "tombstones",
    (value) => ({ ...BASE, tombstones: { p50: 0, p99: 0, max: value } }),
  ],
  ["ORDER", "merged partitions", (value) => query({ merged: 1 + value })],
  [
    "FIND_ONE",
    "partitions asked",
    (value) => ({ ...BASE, find: { ...BASE.find, partitions: 1 + value } }),
  ],
];

for (const [name, what, measuredOf] of MEASURES) {
  test(`${name} is monotone in ${what}`, () => {
    const { judge } = criterion(name);
    const amount = fc.double({ min: 0, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(amount, amount, (a, b) => {
        const less = judge(measuredOf(Math.min(a, b)), CONTEXT);
        const more = judge(measuredOf(Math.max(a, b)), CONTEXT);
        ok(VERDICTS.indexOf(more.verdict) >= VERDICTS.indexOf(less.verdict));
        ok(more.number >= less.number);
      }),
      { numRuns: 300, seed: 3 },
    );
    equal(judge(measuredOf(0), CONTEXT).verdict, STARTS[`${name} ${what}`] ?? "UP");
    ok(judge(measuredOf(1e6), CONTEXT).verdict !== "UP");
  });
}

/** Where the other number of the criterion is beyond its limit already. */
const STARTS: Readonly<Record<string, Verdict>> = {
  "SIZE_LIMIT rows beyond the limit": "QUESTION",
  "HOT_SPOTS rows written to a hot partition": "QUESTION",
};

test("order is monotone in late rows, and a question if they are unknown", () => {
  const { judge } = criterion("ORDER");
  const late = (lateShare: number | undefined): Verdict =>
    judge(
      { ...query({}), lateShare, strategy: { ...BASE.strategy, order: "IF_WRITTEN_IN_ORDER" } },
      CONTEXT,
    ).verdict;
  equal(late(undefined), "QUESTION");
  equal(late(0), "UP");
  equal(late(0.005), "QUESTION");
  equal(late(0.2), "DOWN");
});

test("a number that is just beyond a limit is not shown as the limit", () => {
  const tombstones = { ...BASE, tombstones: { p50: 0, p99: 0, max: 1_001 } };
  match(criterion("TOMBSTONES").judge(tombstones, CONTEXT).why, /up to 1,001 tombstones/);
  const many = { ...BASE, tombstones: { p50: 0, p99: 0, max: 100_400 } };
  match(criterion("TOMBSTONES").judge(many, CONTEXT).why, /up to 100,400 tombstones/);
  const [rows, fill] = [100_400, 1.004].map((max) => ({ p50: 0, p99: 0, max }));
  ok(rows !== undefined && fill !== undefined);
  const { why } = criterion("SIZE_LIMIT").judge(
    { ...BASE, sizes: { ...BASE.sizes, rows, fill } },
    CONTEXT,
  );
  match(why, /has 100,400 rows .* a little above the limit of 100,000 rows/);
});

test("the limits are those that are given", () => {
  const size = { ...BASE, tombstones: { p50: 0, p99: 0, max: 500 } };
  equal(criterion("TOMBSTONES").judge(size, CONTEXT).verdict, "UP");
  const limits = { ...DEFAULT_LIMITS, tombstonesWarn: 100, tombstonesFail: 400 };
  equal(criterion("TOMBSTONES").judge(size, { ...CONTEXT, limits }).verdict, "DOWN");
});
