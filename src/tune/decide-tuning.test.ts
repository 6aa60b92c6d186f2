import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { simulatedHistogram } from "../../tests/support/simulated-traffic.ts";
import type { Traffic } from "../../tests/support/simulated-traffic.ts";
import { Problems } from "../lib/problems.ts";
import { checkConfig } from "../model/check-config.ts";
import { DEFAULT_NAMESPACE_CONFIG, SECOND_MICROS } from "../model/namespace-config.ts";
import type { NamespaceConfig, TimePartition } from "../model/namespace-config.ts";
import { BUCKET_WIDTHS } from "../model/partition-widths.ts";
import type { SliceHistogram } from "../model/slice-histogram.ts";
import { timeMargins } from "../model/time-margins.ts";
import type { Tuning } from "../model/tuning.ts";
import { SizeHistogram } from "../model/size-histogram.ts";
import { decideTuning } from "./decide-tuning.ts";
import type { TuningDecision, TuningFacts } from "./decide-tuning.ts";
import { measureEffect } from "./measure-effect.ts";
import { newTuning, proposalOf } from "./new-tuning.ts";

const DAY = 86_400 * SECOND_MICROS;
const KIB = 1_024;
const MIB = 1_024 * KIB;
const margins = timeMargins({ clockSkewMs: 1_000, viewMaxAgeMs: 10_000, writeMaxMs: 10_000 });

/** About 1 MiB an hour of the middle id: a p99 of some MiB at a bucket of an hour. */
const STEADY: Traffic = { ids: 1_000, bytesPerDay: 24 * MIB, spread: 0.7, eventBytes: 500 };
const HOURLY = DEFAULT_NAMESPACE_CONFIG.timePartition;

function configWith(timePartition: Partial<TimePartition>, deleteDays = 100): NamespaceConfig {
  return {
    ...DEFAULT_NAMESPACE_CONFIG,
    timePartition: { ...HOURLY, ...timePartition },
    retention: { closeAfterMicros: (deleteDays - 1) * DAY, deleteAfterMicros: deleteDays * DAY },
  };
}

/** Slices that all have the namespace's partitioning, one after another. */
function slices(
  traffic: Traffic,
  { timePartition }: NamespaceConfig,
  levels: readonly number[] = [1, 1],
): SliceHistogram[] {
  const width = timePartition.secondsPerTimeSlice * SECOND_MICROS;
  return levels.map((level, nth) =>
    simulatedHistogram(traffic, { start: (100 + nth) * width, timePartition, level }),
  );
}

function decide(config: NamespaceConfig, facts: Partial<TuningFacts>): TuningDecision {
  return decideTuning({
    config,
    createdAt: 0,
    isReopened: () => false,
    lastReadAt: Number.MAX_SAFE_INTEGER,
    clockInDoubt: false,
    histograms: [],
    tunings: [],
    margins,
    ...facts,
  });
}

function toOf(decision: TuningDecision): TimePartition {
  ok(decision.kind === "propose", JSON.stringify(decision));
  return decision.to;
}

function tuningTo(to: TimePartition, fields: Partial<Tuning>): Tuning {
  const sizes = { p50: 1, p95: 1, p99: 1 };
  return {
    id: "t",
    state: "EFFECTIVE",
    direction: "WIDEN",
    evidence: [],
    observed: "",
    proposed: "",
    from: to,
    to,
    dryRun: {
      before: sizes,
      after: sizes,
      partitionsPerDayBefore: 1,
      partitionsPerDayAfter: 1,
      keptLongerSeconds: 0,
      keptLongerBytes: 0,
    },
    effectiveFrom: 0,
    got: null,
    history: [],
    ...fields,
  };
}

test("buckets of 60 s for sparse ids become as wide as the slice in one step", () => {
  const config = configWith({ secondsPerTimeSlice: 604_800, secondsPerTimeBucket: 60 });
  const sparse = { ...STEADY, bytesPerDay: 100 * KIB };
  const decision = decide(config, { histograms: slices(sparse, config) });
  equal(toOf(decision).secondsPerTimeBucket, 604_800);
  ok(decision.kind === "propose" && decision.automatic && decision.direction === "WIDEN");
});

test("slices become wider where a bucket outgrows them, up to a tenth of deleteAfter", () => {
  const sparse = { ...STEADY, bytesPerDay: 100 * KIB };
  const long = configWith({ secondsPerTimeBucket: 60 }, 100);
  const wide = decide(long, { histograms: slices(sparse, long) });
  deepEqual(toOf(wide), { ...HOURLY, secondsPerTimeSlice: 604_800, secondsPerTimeBucket: 604_800 });
  const short = configWith({ secondsPerTimeBucket: 60 }, 16);
  const first = decide(short, { histograms: slices(sparse, short) });
  deepEqual(toOf(first), { ...HOURLY, secondsPerTimeBucket: 86_400 });
  ok(first.kind === "propose" && first.automatic);
  const daily = configWith({ secondsPerTimeBucket: 86_400 }, 16);
  const longer = decide(daily, { histograms: slices(sparse, daily) });
  equal(toOf(longer).secondsPerTimeSlice, 604_800);
  ok(longer.kind === "propose" && !longer.automatic);
});

test("buckets that are too wide become narrower, and event buckets come last", () => {
  const config = configWith({ secondsPerTimeBucket: 86_400 });
  deepEqual(toOf(decide(config, { histograms: slices(STEADY, config) })), {
    ...HOURLY,
    secondsPerTimeBucket: 7_200 / 2,
  });
  const firehose = { ...STEADY, bytesPerDay: 8_640 * 40 * MIB };
  const narrow = toOf(decide(config, { histograms: slices(firehose, config) }));
  equal(narrow.secondsPerTimeBucket, 10);
  ok(narrow.eventBuckets > 1);
});

test("T3: sizes inside the target move nothing, nor do a few wide ids", () => {
  const config = configWith({});
  deepEqual(decide(config, { histograms: slices(STEADY, config) }), { kind: "none", why: "FITS" });
  const outliers = { share: 0.02, factor: 5_000 };
  const histograms = slices({ ...STEADY, outliers }, config);
  deepEqual(decide(config, { histograms }), { kind: "none", why: "FITS" });
});

test("T3: one unusual slice moves nothing", () => {
  const config = configWith({});
  for (const level of [0.01, 100]) {
    const histograms = slices(STEADY, config, [1, 1, level]);
    deepEqual(decide(config, { histograms }), { kind: "none", why: "SLICES_DISAGREE" });
    equal(decide(config, { histograms: slices(STEADY, config, [level, 1, 1]) }).kind, "none");
  }
});

test("T1: slices that were filled later, re-opened, not sealed or walked in part do not count", () => {
  const config = configWith({ secondsPerTimeBucket: 60 });
  const histograms = slices(STEADY, config);
  equal(decide(config, { histograms }).kind, "propose");
  const excluded: Partial<TuningFacts>[] = [
    { createdAt: Number.MAX_SAFE_INTEGER },
    { isReopened: ({ start }) => start === histograms[0]?.start },
    { histograms: histograms.map((each) => ({ ...each, sealed: false })) },
    { histograms: histograms.map((each) => ({ ...each, complete: false })) },
    { histograms: slices({ ...STEADY, ids: 1 / 100 }, config) },
  ];
  for (const facts of excluded) {
    deepEqual(decide(config, { histograms, ...facts }), {
      kind: "none",
      why: "TOO_LITTLE_EVIDENCE",
    });
  }
});

test("a backfill inside a long accept limit moves nothing: most slices that ended since disagree", () => {
  const config = configWith({});
  const filled = slices(STEADY, config, [100, 100, 100, 1, 1, 1]).map((each, nth) => ({
    ...each,
    sealed: nth < 2,
  }));
  deepEqual(decide(config, { histograms: filled }), {
    kind: "none",
    why: "NEWER_SLICES_DISAGREE",
  });
  // A walk from before the slice's end, or of a slice that ended moments ago, is not yet all of it.
  const early = filled.map((each, nth) => (nth < 3 ? each : { ...each, asOf: each.end - 1 }));
  equal(decide(config, { histograms: early }).kind, "propose");
  const stepped = slices(STEADY, config, [100, 100, 100, 100, 1]).map((each, nth) => ({
    ...each,
    sealed: nth < 2,
  }));
  equal(decide(config, { histograms: stepped }).kind, "propose");
});

test("nothing is decided when it is off, in doubt about time, or nobody reads", () => {
  const config = configWith({ secondsPerTimeBucket: 60 });
  const histograms = slices(STEADY, config);
  const off = { ...config, tuning: { ...config.tuning, mode: "OFF" as const } };
  deepEqual(decide(off, { histograms }), { kind: "none", why: "OFF" });
  deepEqual(decide(config, { histograms, clockInDoubt: true }), {
    kind: "none",
    why: "CLOCK_IN_DOUBT",
  });
  for (const lastReadAt of [undefined, 5]) {
    deepEqual(decide(config, { histograms, lastReadAt }), { kind: "none", why: "NOT_READ" });
  }
});

test("slices much shorter than an hour count as read: the last read is recorded once an hour", () => {
  const config = configWith({ secondsPerTimeSlice: 600, secondsPerTimeBucket: 10 });
  const histograms = slices({ ...STEADY, bytesPerDay: 4 * MIB }, config);
  const start = histograms[0]?.start ?? 0;
  const hour = 3_600 * SECOND_MICROS;
  equal(decide(config, { histograms, lastReadAt: start - hour }).kind, "propose");
  deepEqual(decide(config, { histograms, lastReadAt: start - hour - 1 }), {
    kind: "none",
    why: "NOT_READ",
  });
});

test("T2: while a change has not shown its effect no other is decided, and widening waits longer", () => {
  const config = configWith({ secondsPerTimeBucket: 60 });
  const histograms = slices(STEADY, config, [1, 1, 1, 1]);
  const at = (state: Tuning["state"], nth: number): Tuning[] => [
    tuningTo(config.timePartition, { state, effectiveFrom: histograms[nth]?.start ?? 0 }),
  ];
  deepEqual(decide(config, { histograms, tunings: at("APPLIED", 0) }), {
    kind: "none",
    why: "EFFECT_NOT_MEASURED",
  });
  deepEqual(decide(config, { histograms, tunings: at("EFFECTIVE", 1) }), {
    kind: "none",
    why: "COOLING_DOWN",
  });
  equal(decide(config, { histograms, tunings: at("EFFECTIVE", 0) }).kind, "propose");
});

test("what was refused or taken back needs other sizes", () => {
  const config = configWith({ secondsPerTimeBucket: 60 });
  const histograms = slices(STEADY, config);
  const first = decide(config, { histograms });
  ok(first.kind === "propose");
  for (const state of ["REFUSED", "TAKEN_BACK", "PROPOSED"] as const) {
    const dryRun = { ...tuningTo(first.to, {}).dryRun, before: first.before };
    const from = config.timePartition;
    const tunings: Tuning[] = [tuningTo(first.to, { state, dryRun, from })];
    deepEqual(decide(config, { histograms, tunings }), { kind: "none", why: "DECIDED_BEFORE" });
    const less = slices(STEADY, config, [0.6, 0.6]);
    equal(decide(config, { histograms: less, tunings }).kind, "propose");
  }
});

const traffic: fc.Arbitrary<Traffic> = fc.record({
  ids: fc.integer({ min: 100, max: 1_000_000 }),
  bytesPerDay: fc.double({ min: 1, max: 12, noNaN: true }).map((exponent) => 10 ** exponent),
  spread: fc.double({ min: 0, max: 2, noNaN: true }),
  eventBytes: fc.integer({ min: 50, max: 5_000 }),
});

const partitioning: fc.Arbitrary<TimePartition> = fc.record({
  secondsPerTimeSlice: fc.constantFrom(3_600, 86_400, 604_800),
  secondsPerTimeBucket: fc.constantFrom(...BUCKET_WIDTHS.filter((width) => width <= 3_600)),
  eventBuckets: fc.constantFrom(1, 2, 8, 12),
});

test("T2: on any steady traffic it comes to rest at once, with a configuration that works", () => {
  fc.assert(
    fc.property(traffic, partitioning, fc.integer({ min: 2, max: 400 }), (steady, start, days) => {
      let config = configWith(start, days);
      fc.pre(problemsOf(config).length === 0);
      const passed: TimePartition[] = [];
      for (let step = 0; step < 6; step++) {
        const decision = decide(config, { histograms: slices(steady, config) });
        if (decision.kind !== "propose") return;
        passed.push(config.timePartition);
        deepEqual(problemsOf({ ...config, timePartition: decision.to }), []);
        ok(!passed.some((each) => same(each, decision.to)), "it never goes back");
        config = { ...config, timePartition: decision.to };
        // A second step in the same direction may follow where the first was an extrapolation.
      }
      ok(false, `it does not come to rest: ${JSON.stringify(passed)}`);
    }),
    { numRuns: 300 },
  );
});

test("more bytes never lead to wider partitions, of ids that write all the time", () => {
  const times = fc.double({ min: 1, max: 100, noNaN: true });
  const chosen = (config: NamespaceConfig, steady: Traffic): number | undefined => {
    const decision = decide(config, { histograms: slices(steady, config) });
    if (decision.kind !== "propose") return undefined;
    return decision.to.secondsPerTimeBucket / decision.to.eventBuckets;
  };
  fc.assert(
    fc.property(traffic, partitioning, times, (base, start, more) => {
      const config = configWith(start, 400);
      const steady = { ...base, eventBytes: 1, bytesPerDay: Math.max(1e6, base.bytesPerDay) };
      const dense = { ...steady, bytesPerDay: steady.bytesPerDay * more };
      const [less, greater] = [chosen(config, steady), chosen(config, dense)];
      fc.pre(less !== undefined && greater !== undefined);
      ok(greater <= less * 1.001, `${less} s became ${greater} s`);
    }),
    { numRuns: 300 },
  );
});

test("T7: a proposal is bounded: widths that people recognise, and slices as long as the retention allows", () => {
  fc.assert(
    fc.property(traffic, partitioning, fc.integer({ min: 2, max: 400 }), (steady, start, days) => {
      const config = configWith(start, days);
      fc.pre(problemsOf(config).length === 0);
      const decision = decide(config, { histograms: slices(steady, config) });
      fc.pre(decision.kind === "propose");
      const { to, automatic } = decision;
      const share = (days * 86_400) / (automatic ? 10 : 2);
      ok(to.secondsPerTimeSlice <= Math.max(share, start.secondsPerTimeSlice));
      ok(to.eventBuckets <= Math.max(64, start.eventBuckets));
      if (to.secondsPerTimeBucket !== start.secondsPerTimeBucket) {
        ok(BUCKET_WIDTHS.includes(to.secondsPerTimeBucket));
      }
      const read = (each: TimePartition): number => each.eventBuckets / each.secondsPerTimeBucket;
      ok(decision.direction === "WIDEN" ? read(to) < read(start) : read(to) > read(start));
    }),
    { numRuns: 300 },
  );
});

test("the same facts give the same decision, and a proposal that waits is not made twice", () => {
  fc.assert(
    fc.property(traffic, partitioning, (steady, start) => {
      const config = configWith(start, 400);
      const facts = { histograms: slices(steady, config) };
      const decision = decide(config, facts);
      deepEqual(decide(config, facts), decision);
      fc.pre(decision.kind === "propose");
      for (const state of ["PROPOSED", "REFUSED", "TAKEN_BACK"] as const) {
        const made = newTuning("t", proposalOf(decision, config), { at: 0, by: "tuner" });
        deepEqual(decide(config, { ...facts, tunings: [{ ...made, state }] }), {
          kind: "none",
          why: "DECIDED_BEFORE",
        });
      }
    }),
    { numRuns: 100 },
  );
});

test("T2: on stationary traffic with noise no change is undone, whatever its effect", () => {
  const noise = fc.array(fc.double({ min: 0.9, max: 1.1, noNaN: true }), {
    minLength: 24,
    maxLength: 24,
  });
  fc.assert(
    fc.property(traffic, partitioning, noise, (steady, start, levels) => {
      let config = configWith(start, 400);
      fc.pre(problemsOf(config).length === 0);
      const seen = [config.timePartition];
      let histograms: SliceHistogram[] = [];
      let tunings: Tuning[] = [];
      let at = 0;
      for (const level of levels) {
        const { timePartition } = config;
        const width = timePartition.secondsPerTimeSlice * SECOND_MICROS;
        at = Math.ceil(at / width) * width;
        const histogram = simulatedHistogram(steady, { start: at, timePartition, level });
        histograms = [...histograms, histogram];
        at += width;
        const facts = { histograms, tunings };
        tunings = tunings.map((each) => {
          const usable = histograms.filter((slice) => same(slice.timePartition, each.to));
          const effect = each.state === "APPLIED" && measureEffect(each, usable, config.tuning);
          ok(effect === false || effect?.worse !== true, "it is never taken back");
          return effect ? { ...each, state: "EFFECTIVE" as const } : each;
        });
        const decision = decide(config, { ...facts, tunings });
        if (decision.kind !== "propose") continue;
        ok(!seen.some((each) => same(each, decision.to)), "it never goes back");
        seen.push(decision.to);
        const made = newTuning("t", proposalOf(decision, config), { at: 0, by: "tuner" });
        tunings = [...tunings, { ...made, state: "APPLIED" as const, effectiveFrom: at }];
        config = { ...config, timePartition: decision.to };
      }
    }),
    { numRuns: 200 },
  );
});

test("ids that write in bursts get event buckets: narrower time buckets would not help them", () => {
  const config = configWith({ secondsPerTimeBucket: 3_600 });
  const burst = new SizeHistogram();
  burst.add(100 * MIB, 1_000);
  const bytes = burst.distribution();
  const histograms = slices(STEADY, config).map((each) => ({
    ...each,
    timeBuckets: { bytes, events: bytes },
    widened: each.widened.map((wider) => ({ ...wider, bytes })),
  }));
  const to = toOf(decide(config, { histograms }));
  deepEqual(to, { ...HOURLY, eventBuckets: 16 });
});

test("buckets as wide as a long slice are chosen by AUTO: no slice becomes longer", () => {
  const weekly = { secondsPerTimeSlice: 604_800, secondsPerTimeBucket: 60 };
  const config = configWith(weekly, 30);
  const sparse = { ...STEADY, bytesPerDay: 100 * KIB };
  const decision = decide(config, { histograms: slices(sparse, config) });
  equal(toOf(decision).secondsPerTimeBucket, 604_800);
  ok(decision.kind === "propose" && decision.automatic);
});

test("T1: evidence from before another partitioning, or of walks that failed, does not count", () => {
  const config = configWith({ secondsPerTimeBucket: 60 });
  const [first, second] = slices(STEADY, config);
  ok(first && second);
  const none = { kind: "none", why: "TOO_LITTLE_EVIDENCE" };
  const other = { ...second, start: second.end, end: second.end + DAY, timePartition: HOURLY };
  deepEqual(decide(config, { histograms: [first, second, other] }), none);
  const failed = { ...second, omissions: { ...second.omissions, failed: 1e9 } };
  deepEqual(decide(config, { histograms: [first, failed] }), none);
  deepEqual(decide(config, { histograms: [first, { ...second, filledLater: true }] }), none);
});

function problemsOf(config: NamespaceConfig): readonly string[] {
  const problems = new Problems();
  checkConfig(config, margins, problems);
  return problems.list();
}

function same(a: TimePartition, b: TimePartition): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
