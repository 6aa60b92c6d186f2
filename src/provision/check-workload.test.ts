import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { MARGINS } from "../../tests/support/planned.ts";
import { Problems } from "../lib/problems.ts";
import { checkWorkload, patchOfWorkload } from "./check-workload.ts";
import { checkPlan } from "./planner.ts";
import type { WorkloadInput } from "./workload.ts";

function problemsOf(input: WorkloadInput): readonly string[] {
  const problems = new Problems();
  const checked = checkWorkload(input, problems);
  equal(checked === undefined, problems.count > 0);
  return problems.list();
}

test("a workload with several problems names all of them", () => {
  const found = problemsOf({
    ids: { low: 5, mid: 1, high: 3 },
    eventBytes: { mid: 0 },
    burstiness: { low: 1, mid: 2, high: 3, confidence: 2 },
    readIntervalSeconds: {},
    replication: 1.5,
    retentionSeconds: -1,
    skew: { distribution: "GAUSS" },
  });
  for (const problem of [
    /^workload.skew.distribution \("GAUSS"\) must be EVEN or LOGNORMAL or ZIPF or PARETO$/,
    /^workload.ids: low, mid and high must be in this order$/,
    /^workload.eventsPerDayPerId is required; give at least its mid$/,
    /^workload.eventBytes \(0\) must be from 1 to 1048576$/,
    /^workload.burstiness.confidence \(2\) must be from 0.5 to 0.99$/,
    /^workload.readIntervalSeconds.mid is required$/,
    /^workload.replication \(1.5\) must be a whole number from 1 to 10$/,
    /^workload.retention \(-1 s\) must be above 0 and at most 100 years$/,
  ]) {
    equal(
      found.filter((text) => problem.test(text)).length,
      1,
      `${problem} of ${found.join("\n")}`,
    );
  }
});

test("O9: not a number is refused, not simulated", () => {
  equal(problemsOf({ ids: { mid: Number.NaN }, eventsPerDayPerId: { mid: 1 } }).length > 0, true);
  const skew = { percentiles: [{ percentile: Number.NaN, eventsPerDay: Number.NaN }] };
  equal(problemsOf({ ids: { mid: 1 }, skew }).length > 0, true);
});

test("percentiles must rise, and stand alone", () => {
  const found = problemsOf({
    ids: { mid: 1 },
    skew: {
      distribution: "ZIPF",
      percentiles: [
        { percentile: 50, eventsPerDay: 10 },
        { percentile: 99, eventsPerDay: 5 },
        { percentile: 101, eventsPerDay: 20 },
      ],
    },
  });
  match(found.join("\n"), /give one of them and leave out the other/);
  match(found.join("\n"), /percentile 99 must be above percentile 50, with at least as many/);
  match(found.join("\n"), /101 must be above 0 and at most 100/);
});

test("rates of percentiles have the range of the mean rate", () => {
  const rates = (low: number, high: number): string => {
    const percentiles = [
      { percentile: 1, eventsPerDay: low },
      { percentile: 99, eventsPerDay: high },
    ];
    return problemsOf({ ids: { mid: 2 }, skew: { percentiles } }).join("\n");
  };
  equal(rates(1e-6, 1e12), "");
  match(rates(1e-300, 1e12), /1e-300 events a day must be from 0.000001 to 1000000000000/);
  match(rates(1, Infinity), /Infinity events a day must be from/);
});

test("the problems of a workload and of the namespace's configuration come together", () => {
  const problems = new Problems();
  const input = {
    workload: {
      ids: { mid: -1 },
      eventsPerDayPerId: { mid: 1 },
      retentionSeconds: 60,
      acceptLimitSeconds: 600,
    },
    patch: {},
  };
  equal(checkPlan(input, MARGINS, problems), undefined);
  match(problems.list().join("\n"), /workload.ids \(-1\)[^]*lower acceptLimit or raise retention/);
});

test("percentiles give the mean where no mean is given; what is assumed is said", () => {
  const problems = new Problems();
  const checked = checkWorkload(
    { ids: { mid: 1_000 }, skew: { percentiles: [{ percentile: 50, eventsPerDay: 10 }] } },
    problems,
  );
  equal(checked?.workload.eventsPerDayPerId.mid, 10);
  deepEqual(checked?.assumed.slice(0, 2), [
    "eventBytes is not given: assumed 1KiB",
    "burstiness is not given: assumed 2",
  ]);
});

test("retention and limits become the namespace's configuration", () => {
  deepEqual(
    patchOfWorkload({
      retentionSeconds: 1_296_000,
      acceptLimitSeconds: 60,
      slos: { read: { targetMs: 100 } },
      consistency: "EVENTUAL",
    }),
    {
      acceptLimitMicros: 60_000_000,
      retention: { closeAfterMicros: 1_296_000_000_000, deleteAfterMicros: 1_382_400_000_000 },
      slos: { read: { targetMs: 100, maxMs: undefined }, write: undefined },
      consistency: "EVENTUAL",
    },
  );
});
