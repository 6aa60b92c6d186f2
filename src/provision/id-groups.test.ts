import { ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { SeededRandom } from "../lib/seeded-random.ts";
import { idGroups, meanOfPercentiles } from "./id-groups.ts";
import type { DrawnSkew, IdGroups } from "./id-groups.ts";

const named = fc.oneof(
  fc.constant({ distribution: "EVEN" as const, parameter: 0 }),
  fc.record({
    distribution: fc.constant("LOGNORMAL" as const),
    parameter: fc.double({ min: 0, max: 3, noNaN: true }),
  }),
  fc.record({
    distribution: fc.constant("ZIPF" as const),
    parameter: fc.double({ min: 0, max: 2, noNaN: true }),
  }),
  fc.record({
    distribution: fc.constant("PARETO" as const),
    parameter: fc.double({ min: 1.1, max: 10, noNaN: true }),
  }),
);
const percentiles = fc
  .uniqueArray(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 8 })
  .chain((at) =>
    fc
      .array(fc.double({ min: 0.01, max: 1e6, noNaN: true }), {
        minLength: at.length,
        maxLength: at.length,
      })
      .map((rates) => {
        const sorted = rates.toSorted((a, b) => a - b);
        const ascending = at.toSorted((a, b) => a - b);
        return {
          percentiles: ascending.map((percentile, nth) => ({
            percentile,
            eventsPerDay: sorted[nth] as number,
          })),
        };
      }),
  );

test("groups cover all ids once, busiest first, with the given mean", () => {
  fc.assert(
    fc.property(
      fc.oneof(named, percentiles),
      fc.integer({ min: 1, max: 1_000_000_000 }),
      fc.option(fc.nat(), { nil: undefined }),
      (skew: DrawnSkew, ids, seed) => {
        const groups = idGroups(skew, ids, seed === undefined ? seed : new SeededRandom(seed));
        const { idShare, relativeRate } = groups;
        ok(Math.abs(idShare.reduce((a, b) => a + b) - 1) < 1e-9);
        for (let group = 1; group < idShare.length; group++) {
          const [before, rate] = [relativeRate[group - 1] as number, relativeRate[group] as number];
          ok(before >= rate * 0.999 - 1e-9, `${before} before ${rate}`);
        }
        ok(Math.abs(meanOf(groups) - 1) < 1e-6, String(meanOf(groups)));
      },
    ),
  );
});

function meanOf({ idShare, relativeRate }: IdGroups): number {
  return idShare.reduce((sum, share, group) => sum + share * (relativeRate[group] as number), 0);
}

test("named distributions have the shares of the textbook", () => {
  const topShare = (skew: DrawnSkew, of: number): number => {
    const { idShare, relativeRate } = idGroups(skew, 1_000);
    let [ids, events] = [0, 0];
    for (const [group, share] of idShare.entries()) {
      if (ids > of * 0.999) break;
      ids += share;
      events += share * (relativeRate[group] as number);
    }
    return events;
  };
  // The busiest fifth of a log-normal distribution, and of ids that are all alike.
  ok(Math.abs(topShare({ distribution: "LOGNORMAL", parameter: 1 }, 0.2) - 0.563) < 0.005);
  ok(Math.abs(topShare({ distribution: "EVEN", parameter: 0 }, 0.2) - 0.2) < 0.001);
  // 1,000 ids by Zipf's law: the first hundred have H(100)/H(1000) of the events.
  ok(Math.abs(topShare({ distribution: "ZIPF", parameter: 1 }, 0.1) - 0.6929) < 0.005);
});

test("percentiles: the mean of ids between them, and the busiest id is the one given", () => {
  const given = [
    { percentile: 50, eventsPerDay: 10 },
    { percentile: 90, eventsPerDay: 10 },
    { percentile: 100, eventsPerDay: 10 },
  ];
  ok(Math.abs(meanOfPercentiles(given, 1_000) - 10) < 1e-9);
  const skewed = [
    { percentile: 50, eventsPerDay: 10 },
    { percentile: 100, eventsPerDay: 1_000_000 },
  ];
  const { relativeRate } = idGroups({ percentiles: skewed }, 100_000);
  const busiest = (relativeRate[0] as number) * meanOfPercentiles(skewed, 100_000);
  ok(Math.abs(busiest / 1_000_000 - 1) < 0.001, String(busiest));
});

test("drawn ids: the busiest of many worlds spread around the distribution's own", () => {
  const skew = { distribution: "LOGNORMAL" as const, parameter: 1 };
  const busiest = Array.from({ length: 400 }, (_, seed) => {
    return idGroups(skew, 1_000, new SeededRandom(seed * 7_919)).relativeRate[0] as number;
  }).toSorted((a, b) => a - b);
  // The largest of 1,000 log-normal draws has a median z of 3.20, in multiples of the mean 1.65.
  const median = busiest[200] as number;
  ok(Math.abs(median / (Math.exp(3.2) / Math.exp(0.5)) - 1) < 0.1, String(median));
  ok((busiest[380] as number) > median * 1.5 && (busiest[20] as number) < median / 1.3);
});
