import assert from "node:assert/strict";
import { test } from "node:test";
import { joinedSlices } from "../../../tests/support/static-view.ts";
import type { TimePartition } from "../../model/namespace-config.ts";
import { eventBucketsOf, timeBucketOf } from "../../model/partition.ts";
import { nextIdStep, untouchedFrom } from "./id-growth.ts";
import type { IdGrowth } from "./id-growth.ts";
import { timeMargins } from "../../model/time-margins.ts";

const START = Date.UTC(2026, 2, 28) * 1000;
const SECOND = 1_000_000;
const HOUR = 3_600 * SECOND;
const MIB = 1024 ** 2;
const HOURLY: TimePartition = {
  secondsPerTimeSlice: 86_400,
  secondsPerTimeBucket: 3_600,
  eventBuckets: 1,
};

function growthOf(change: Partial<IdGrowth> & { eventBuckets?: number } = {}): IdGrowth {
  const { eventBuckets = 1, ...rest } = change;
  const timePartition = { ...HOURLY, eventBuckets };
  const [slice] = joinedSlices(START, [timePartition]);
  assert.ok(slice);
  return {
    slice,
    timePartition,
    bytesInBucket: 20 * MIB,
    targetBytes: 8 * MIB,
    eventsInBucket: 100,
    eventsMax: 100_000,
    steps: undefined,
    nowMicros: START + 9 * HOUR,
    futureLimitMicros: 60 * SECOND,
    margins: timeMargins({ clockSkewMs: 1_000, viewMaxAgeMs: 10_000, writeMaxMs: 10_000 }),
    changeMaxMicros: 20 * SECOND,
    ...rest,
  };
}

test("the factor is the least power of two that makes partitions small enough", () => {
  const table: [number, Partial<IdGrowth> & { eventBuckets?: number }, number | undefined][] = [
    [8, {}, undefined],
    [9, {}, 2],
    [16, {}, 2],
    [20, {}, 4],
    [33, {}, 8],
    [33, { eventBuckets: 4 }, 2],
    [32, { eventBuckets: 4 }, undefined],
    [1_000_000, {}, 1_024],
    [1_000_000, { eventBuckets: 3 }, 256],
    [1_000_000, { eventBuckets: 600 }, undefined],
    // Its steps count, also future ones.
    [33, { steps: [{ from: START, factor: 2 }] }, 8],
    [33, { steps: [{ from: START + 20 * HOUR, factor: 8 }] }, undefined],
    [64, { steps: [{ from: START, factor: 3 }] }, 12],
    [1_000_000, { steps: [{ from: START, factor: 1_024 }] }, undefined],
    // Future slices have more event buckets for all ids, which the factor does not multiply.
    [33, { timePartition: { ...HOURLY, eventBuckets: 8 } }, undefined],
    [100, { timePartition: { ...HOURLY, eventBuckets: 8 } }, 16],
    // Future slices have other widths.
    [8, { timePartition: { ...HOURLY, secondsPerTimeBucket: 7_200 } }, 2],
    [33, { timePartition: { ...HOURLY, secondsPerTimeBucket: 600 } }, undefined],
  ];
  for (const [mebibytes, change, factor] of table) {
    const step = nextIdStep(growthOf({ ...change, bytesInBucket: mebibytes * MIB }));
    assert.equal(step?.factor, factor, JSON.stringify([mebibytes, change]));
  }
});

test("an id that is wide by its events grows too, by the larger of the two factors", () => {
  const table: [number, number, number | undefined][] = [
    [1, 100_000, undefined],
    [1, 100_001, 2],
    [1, 700_000, 8],
    [20, 150_000, 4],
    [20, 700_000, 8],
  ];
  for (const [mebibytes, eventsInBucket, factor] of table) {
    const step = nextIdStep(growthOf({ bytesInBucket: mebibytes * MIB, eventsInBucket }));
    assert.equal(step?.factor, factor, `${mebibytes} MiB in ${eventsInBucket} events`);
  }
});

test("a step takes effect with the first bucket that no process can have written to", () => {
  const from = (nowMicros: number): number | undefined => nextIdStep(growthOf({ nowMicros }))?.from;
  // Before its start: the future limit, the skew, twice the age of a view and the time to store it.
  const margin = 101 * SECOND;
  assert.equal(from(START + 10 * HOUR - margin - 1), START + 10 * HOUR);
  assert.equal(from(START + 10 * HOUR - margin), START + 11 * HOUR);
  // In a later slice, which begins where this one ends.
  assert.equal(from(START + 23.9 * HOUR), START + 24 * HOUR);
  assert.equal(from(START + 50.5 * HOUR), START + 51 * HOUR);
});

test("a step is in time until storing it, or a view without it, may end too late", () => {
  const growth = growthOf();
  assert.equal(untouchedFrom(growth), growth.nowMicros + 91 * SECOND);
});

test("a step is later than existing steps", () => {
  const steps = [{ from: START + 20 * HOUR, factor: 2 }];
  const step = nextIdStep(growthOf({ steps }));
  assert.deepEqual(step, { from: START + 21 * HOUR, factor: 4 });
});

test("the bucket that a step names is the first with more event buckets", () => {
  const growth = growthOf();
  const step = nextIdStep(growth);
  assert.ok(step);
  const bucket = timeBucketOf(growth.slice, step.from);
  assert.equal(eventBucketsOf(growth.slice, bucket - 1, [step]), 1);
  assert.equal(eventBucketsOf(growth.slice, bucket, [step]), 4);
});
