import { deepEqual, equal, match, notDeepEqual, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { configOf, MARGINS, planned } from "../../tests/support/planned.ts";
import { isNested } from "../model/partition-widths.ts";
import { configProblems } from "./candidates.ts";
import type { NamespacePlan, RejectedPlan } from "./plan.ts";
import type { EstimateInput, WorkloadInput } from "./workload.ts";

const DAY = 86_400;

const estimate = (min: number, max: number): fc.Arbitrary<EstimateInput> => {
  const value = fc.double({ min, max, noNaN: true });
  return fc.oneof(
    value.map((mid) => ({ mid })),
    fc
      .tuple(value, value, value, fc.constantFrom(0.5, 0.8, 0.9, 0.98))
      .map(([a, b, c, confidence]) => {
        const [low, mid, high] = [a, b, c].toSorted((x, y) => x - y) as [number, number, number];
        return { low, mid, high, confidence };
      }),
  );
};

/** From one id to a billion, sparse to dense: exponents are uniform, not values. */
const spread = (min: number, max: number): fc.Arbitrary<EstimateInput> =>
  estimate(Math.log10(min), Math.log10(max)).map(({ low, mid, high, ...rest }) => ({
    ...(low !== undefined && { low: 10 ** low }),
    ...(mid !== undefined && { mid: 10 ** mid }),
    ...(high !== undefined && { high: 10 ** high }),
    ...rest,
  }));

const workloads: fc.Arbitrary<WorkloadInput> = fc.record({
  ids: spread(1, 1e9),
  eventsPerDayPerId: spread(0.01, 1e8),
  eventBytes: spread(16, 65_536),
  burstiness: spread(1, 50),
  readIntervalSeconds: spread(1, 1e7),
  eventsPerRead: spread(1, 1e6),
  readsPerSecond: spread(1, 1e5),
  retentionSeconds: spread(3_600, 5e8).map(({ mid = 3_600 }) => Math.round(mid)),
  skew: fc.oneof(
    fc.constant({ distribution: "EVEN" }),
    estimate(0, 2.5).map((parameter) => ({ distribution: "LOGNORMAL", parameter })),
    estimate(0.1, 1.5).map((parameter) => ({ distribution: "ZIPF", parameter })),
    estimate(1.1, 5).map((parameter) => ({ distribution: "PARETO", parameter })),
  ),
});

test("every plan is one that CreateNamespace accepts, nests, and has finite numbers", () => {
  fc.assert(
    fc.property(workloads, fc.nat(), (workload, seed) => {
      const plan = planned(workload, { seed, worlds: 4 });
      const { timePartition } = plan.chosen;
      deepEqual(configProblems({ ...configOf(workload), timePartition }, MARGINS), []);
      ok(isNested(timePartition.secondsPerTimeSlice));
      for (const { plan: each } of [{ plan: plan.chosen }, ...plan.alternatives]) {
        for (const value of numbersIn(each)) ok(Number.isFinite(value), JSON.stringify(each));
        const { p50Bytes, p99Bytes, maxBytes, idsBeyondLimit, readsBeyondLimit } = each;
        for (const band of [p50Bytes, p99Bytes, maxBytes]) {
          ok(band.low <= band.mid && band.mid <= band.high, JSON.stringify(each));
        }
        ok(p50Bytes.mid <= p99Bytes.mid * 1.001, JSON.stringify(each));
        ok(p99Bytes.mid <= maxBytes.mid * 1.001, JSON.stringify(each));
        ok(idsBeyondLimit.high <= 1 && readsBeyondLimit.high <= 1);
      }
      for (const value of numbersIn(plan.infrastructure)) ok(Number.isFinite(value));
      for (const { whyNot } of plan.alternatives) ok(whyNot !== "");
    }),
    { numRuns: 60 },
  );
});

function* numbersIn(value: object): Generator<number> {
  for (const each of Object.values(value) as unknown[]) {
    if (typeof each === "number") yield each;
    else if (typeof each === "object" && each !== null) yield* numbersIn(each);
  }
}

test("the same workload and seed give the same answer; another seed draws other worlds", () => {
  const workload: WorkloadInput = {
    ids: { low: 1e4, mid: 1e5, high: 1e6 },
    eventsPerDayPerId: { low: 10, mid: 1_000, high: 50_000 },
  };
  deepEqual(planned(workload, { seed: 3 }), planned(workload, { seed: 3 }));
  notDeepEqual(planned(workload, { seed: 3 }).chosen, planned(workload, { seed: 4 }).chosen);
});

test("more events of each id never make a partition hold more time", () => {
  fc.assert(
    fc.property(
      workloads,
      fc.double({ min: 1, max: 1_000, noNaN: true }),
      fc.nat(),
      (workload, factor, seed) => {
        const rate = workload.eventsPerDayPerId ?? {};
        const more = {
          ...workload,
          eventsPerDayPerId: {
            ...rate,
            ...(rate.low !== undefined && { low: rate.low * factor }),
            ...(rate.mid !== undefined && { mid: rate.mid * factor }),
            ...(rate.high !== undefined && { high: rate.high * factor }),
          },
        };
        const before = planned(workload, { seed, worlds: 8 });
        // Where a partition has an event or two, more events make keys matter more than before.
        fc.pre(before.chosen.p50Bytes.mid >= 10 * (workload.eventBytes?.mid ?? 0));
        const after = planned(more, { seed, worlds: 8 });
        ok(timeOf(after) <= timeOf(before), `${timeOf(before)} s, then ${timeOf(after)} s`);
      },
    ),
    { numRuns: 100 },
  );
});

/** Seconds of an id's events in one partition. */
function timeOf({ chosen: { timePartition } }: NamespacePlan): number {
  return timePartition.secondsPerTimeBucket / timePartition.eventBuckets;
}

test("sparse ids with short reads: the public planner makes 60 s buckets, Braid does not", () => {
  const plan = planned({
    ids: { mid: 1_000_000 },
    eventsPerDayPerId: { mid: 100 },
    readIntervalSeconds: { mid: 60 },
    retentionSeconds: 30 * DAY,
  });
  const other = publicOf(plan);
  equal(other.plan.timePartition.secondsPerTimeBucket, 60);
  ok(other.plan.p99Bytes.high < 10_240, "the seed's failure: partitions of less than 10 KB");
  ok(plan.chosen.timePartition.secondsPerTimeBucket >= 3_600);
  ok(plan.chosen.p50Bytes.mid > 10_240);
  ok(other.plan.regret > plan.chosen.regret + 1);
});

test("an id with a million events a day: the public planner makes it wide, Braid does not", () => {
  const plan = planned({
    ids: { mid: 1 },
    eventsPerDayPerId: { mid: 1_000_000 },
    eventBytes: { mid: 1_024 },
    skew: { distribution: "EVEN" },
  });
  const other = publicOf(plan);
  ok(other.plan.p50Bytes.mid > 100 * 2 ** 20);
  equal(other.plan.readsBeyondLimit.mid, 1);
  ok(plan.chosen.maxBytes.high < 10 * 2 ** 20);
  match(other.whyNot, /^100 % of reads meet a partition beyond the limit \(10 MiB\), not 0 %/);
});

test("skewed ids: fewer reads meet a wide partition than with the public planner", () => {
  const plan = planned({
    ids: { mid: 100_000 },
    eventsPerDayPerId: { mid: 2_000 },
    skew: { distribution: "LOGNORMAL", parameter: { mid: 2 } },
  });
  const other = publicOf(plan);
  ok(plan.chosen.readsBeyondLimit.mid < other.plan.readsBeyondLimit.mid / 2);
  ok(other.plan.regret > plan.chosen.regret);
});

function publicOf({ alternatives }: NamespacePlan): RejectedPlan {
  const found = alternatives.find(({ name }) => name === "public planner");
  ok(found !== undefined);
  return found;
}

test("no candidate has less regret over the worlds than the chosen one", () => {
  const plan = planned({
    ids: { low: 1e3, mid: 1e5, high: 1e6 },
    eventsPerDayPerId: { low: 10, mid: 500, high: 20_000 },
    growthPercentPerMonth: { mid: 5 },
  });
  const within = plan.alternatives.filter(({ name }) => name !== "public planner");
  // The regret that counts weighs large ones more, so that the plain mean may differ a little.
  for (const { name, plan: other } of within) ok(other.regret > plan.chosen.regret - 0.1, name);
});

test("no alternative is better than the chosen one, however much one id writes", () => {
  const workload = { ids: { mid: 1 }, eventsPerDayPerId: { mid: 1e12 }, eventBytes: { mid: 2e5 } };
  const { chosen, alternatives } = planned(workload, { worlds: 8 });
  equal(chosen.timePartition.eventBuckets, 128);
  for (const { name, plan, whyNot } of alternatives) {
    ok(plan.regret >= chosen.regret, `${name}: ${plan.regret}`);
    ok(!/100 % of reads .* not 100 %/.test(whyNot), whyNot);
  }
});

test("a configuration that nothing fits is refused with the reasons", () => {
  throws(
    () =>
      planned({
        ids: { mid: 1 },
        eventsPerDayPerId: { mid: 1 },
        retentionSeconds: 60,
        acceptLimitSeconds: 600,
      }),
    (error: Error) => {
      match(error.message, /acceptLimit \(600s\).*must be less than retention.closeAfter \(60s\)/);
      return true;
    },
  );
});
