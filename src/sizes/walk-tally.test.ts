import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { percentilesOf } from "../model/slice-histogram.ts";
import type { WalkedPartition } from "../ports/partition-walk.ts";
import type { TallyState } from "../records/walk-positions.ts";
import { IdSample } from "./id-sample.ts";
import { TimeBucketSizes } from "./time-bucket-sizes.ts";
import { TOP_PARTITIONS_MAX, WalkTally } from "./walk-tally.ts";
import { widerBuckets } from "./wider-buckets.ts";

const HOURLY = { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 3_600, eventBuckets: 1 };

function partition(
  seriesId: string,
  timeBucket: number,
  eventBucket: number,
  bytes: number,
  events = 1,
): WalkedPartition {
  return {
    seriesId,
    timeBucket,
    eventBucket,
    size: { kind: "counted", bytes, events, exact: true },
  };
}

function tallyOf(partitions: readonly WalkedPartition[], idsTogether: boolean): WalkTally {
  const tally = new WalkTally(HOURLY, new IdSample(1));
  tally.add({ partitions, idsTogether });
  return tally;
}

test("an id with more event buckets counts as one per time bucket: sizes before id factors", () => {
  const wide = Array.from({ length: 16 }, (_, bucket) => partition("wide", 3, bucket, 1_000, 10));
  const { partitions, timeBuckets } = tallyOf(
    [...wide, partition("a", 3, 0, 1_000)],
    false,
  ).sizes();
  deepEqual([partitions.bytes.count, partitions.bytes.max], [17, 1_000]);
  deepEqual([timeBuckets.bytes.count, timeBuckets.bytes.max], [2, 16_000]);
  equal(timeBuckets.events.max, 160);
});

test("a tally that is saved and restored in the middle has the same width map", () => {
  const all = Array.from({ length: 40 }, (_, nth) =>
    partition(`id${nth}`, nth % 24, 0, 1_000 * (nth + 1), nth + 1),
  );
  const whole = tallyOf(all, false).map();
  const first = tallyOf(all.slice(0, 17), false);
  const saved = JSON.parse(JSON.stringify(first.state())) as TallyState;
  const second = WalkTally.of(HOURLY, saved);
  second.add({ partitions: all.slice(17), idsTogether: false });
  deepEqual(second.map(), whole);
  const counted = (whole?.grids.bySize ?? []).reduce((sum, [, partitions]) => sum + partitions, 0);
  deepEqual([counted, whole?.sizes.count], [40, 40]);
});

test("a walk that a process without width maps began has none, and its other sizes", () => {
  const { sampled, known, ...state } = tallyOf([partition("a", 0, 0, 1_000)], false).state();
  const old = {
    ...state,
    sampled: { ...sampled, grids: undefined },
    known: { ...known, grids: undefined },
  };
  const tally = WalkTally.of(HOURLY, old);
  equal(tally.map(), undefined);
  equal("grids" in tally.state().sampled, false);
  equal(tally.sizes().partitions.bytes.count, 1);
});

test("where a sample was counted, the map stands for all partitions", () => {
  const tally = new WalkTally(HOURLY, new IdSample(0.5, new Set(["known"])));
  tally.add({
    partitions: [
      partition("known", 0, 0, 5_000),
      partition("a", 1, 0, 1_500),
      { seriesId: "b", timeBucket: 2, eventBucket: 0, size: { kind: "not counted" } },
      { seriesId: "c", timeBucket: 2, eventBucket: 0, size: { kind: "not counted" } },
    ],
    idsTogether: false,
  });
  const cells = (tally.map()?.grids.bySize ?? []).map(([cell, count, bytes]) => {
    return [cell % 24, count, bytes];
  });
  deepEqual(cells, [
    [1, 3, 4_500],
    [0, 1, 5_000],
  ]);
});

test("wider time buckets add up those of the same id only", () => {
  const { widened } = tallyOf(
    [partition("a", 0, 0, 100), partition("a", 5, 0, 200), partition("b", 1, 0, 400)],
    false,
  ).sizes();
  const at = (seconds: number) =>
    widened.find(({ secondsPerTimeBucket }) => secondsPerTimeBucket === seconds)?.bytes;
  deepEqual([at(10_800)?.count, at(10_800)?.max], [3, 400]);
  deepEqual([at(21_600)?.count, at(21_600)?.max, at(21_600)?.min], [2, 400, 300]);
  deepEqual([at(86_400)?.count, at(86_400)?.total], [2, 700]);
});

test("only wider buckets that divide the slice are considered, the slice itself last", () => {
  deepEqual(widerBuckets(HOURLY), [10_800, 21_600, 43_200, 86_400]);
  deepEqual(widerBuckets({ ...HOURLY, secondsPerTimeBucket: 86_400 }), []);
  const odd = { secondsPerTimeSlice: 7_000, secondsPerTimeBucket: 70, eventBuckets: 1 };
  deepEqual(widerBuckets(odd), [7_000]);
});

test("the order of partitions does not matter, nor whether an id's come together", () => {
  const partitions = fc.array(
    fc.record({
      id: fc.integer({ min: 0, max: 5 }),
      timeBucket: fc.integer({ min: 0, max: 23 }),
      eventBucket: fc.integer({ min: 0, max: 3 }),
      bytes: fc.integer({ min: 1, max: 1e8 }),
    }),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(partitions, (all) => {
      const walked = all.map(({ id, timeBucket, eventBucket, bytes }) =>
        partition(`id${id}`, timeBucket, eventBucket, bytes),
      );
      const sorted = walked.toSorted((a, b) => (a.seriesId < b.seriesId ? -1 : 1));
      deepEqual(tallyOf(sorted, true).sizes(), tallyOf(walked, false).sizes());
    }),
    { seed: 12 },
  );
});

test("a sample stands for all ids, and known ids for themselves", () => {
  const known = "giant";
  const sample = new IdSample(0.1, new Set([known]));
  const tally = new WalkTally(HOURLY, sample);
  const ids = Array.from({ length: 10_000 }, (_, nth) => `id${nth}`);
  const partitions = [known, ...ids].map((id): WalkedPartition => {
    if (!sample.counts(id)) {
      return { seriesId: id, timeBucket: 0, eventBucket: 0, size: { kind: "not counted" } };
    }
    return partition(id, 0, 0, id === known ? 1e9 : 1_000);
  });
  tally.add({ partitions, idsTogether: false });
  const sizes = tally.sizes();
  equal(sizes.partitions.bytes.count, 10_001);
  equal(sizes.timeBuckets.bytes.count, 10_001);
  ok(sizes.omissions.notCounted > 8_500 && sizes.omissions.notCounted < 9_500);
  equal(percentilesOf(sizes.partitions.bytes).p99, 1_109);
  equal(sizes.partitions.bytes.max, 1e9);
  // The one giant is not multiplied.
  ok(sizes.partitions.bytes.total < 1.1e9, `${sizes.partitions.bytes.total}`);
  equal(tally.top()[0]?.seriesId, known);
});

test("the largest by bytes and the largest by events are both kept, in bounded number", () => {
  const many = Array.from({ length: 5_000 }, (_, nth) => partition(`s${nth}`, 0, 0, 100 + nth, 1));
  const busy = Array.from({ length: 5_000 }, (_, nth) => partition(`b${nth}`, 0, 0, 1, 10 + nth));
  const top = tallyOf([...busy, ...many], false).top();
  equal(top.length, 2 * TOP_PARTITIONS_MAX);
  equal(top[0]?.bytes, 5_099);
  ok(top.some(({ seriesId }) => seriesId === "b4999"));
  ok(!top.some(({ seriesId }) => seriesId === "s0" || seriesId === "b0"));
});

test("what was estimated, damaged or not counted is counted apart", () => {
  const tally = new WalkTally(HOURLY, new IdSample(1));
  const at = { timeBucket: 0, eventBucket: 0 };
  tally.add({
    partitions: [
      { seriesId: "a", ...at, size: { kind: "counted", bytes: 5, events: 1, exact: false } },
      { seriesId: "b", ...at, size: { kind: "damaged" } },
      partition("c", 0, 0, 7),
    ],
    idsTogether: true,
  });
  deepEqual(tally.sizes().omissions, { notCounted: 0, estimated: 1, failed: 1 });
  equal(tally.walked, 3);
});

test("a walk without order keeps a bounded number of time buckets, and half the ids stand for all", () => {
  const sizes = new TimeBucketSizes(HOURLY, 1_000);
  for (let nth = 0; nth < 20_000; nth++) sizes.add(`id${nth}`, 0, 1_000, 1);
  const { bytes } = sizes.result().sizes;
  ok(bytes.count > 17_000 && bytes.count < 23_000, `${bytes.count}`);
  equal(bytes.maxBytes, 1_000);
});

test("a walk that is saved and continued at any point finds what an uninterrupted one finds", () => {
  const walked = fc.tuple(
    fc.constantFrom("a", "b", "c", "d"),
    fc.nat(23),
    fc.nat(3),
    fc.integer({ min: 1, max: 1e9 }),
    fc.nat(1_000),
    fc.constantFrom("counted", "not counted", "damaged"),
  );
  fc.assert(
    fc.property(fc.array(walked), fc.boolean(), fc.nat(100), (all, idsTogether, cut) => {
      const sorted = idsTogether ? all.toSorted((a, b) => (a[0] < b[0] ? -1 : 1)) : all;
      const partitions = sorted.map(([id, bucket, part, bytes, events, kind]) =>
        kind === "counted"
          ? partition(id, bucket, part, bytes, events)
          : { ...partition(id, bucket, part, 0), size: { kind } as const },
      );
      const sample = new IdSample(0.5, new Set(["a"]));
      const whole = new WalkTally(HOURLY, sample);
      whole.add({ partitions, idsTogether });
      const first = new WalkTally(HOURLY, sample);
      first.add({ partitions: partitions.slice(0, cut), idsTogether });
      const saved: TallyState = JSON.parse(JSON.stringify(first.state()));
      const second = WalkTally.of(HOURLY, saved);
      second.add({ partitions: partitions.slice(cut), idsTogether });
      deepEqual(second.state(), whole.state());
      deepEqual(second.sizes(), whole.sizes());
      deepEqual(second.top(), whole.top());
    }),
  );
});

test("what is saved of a walk without order is bounded, and stands for all", () => {
  const sizes = new TimeBucketSizes(HOURLY);
  for (let id = 0; id < 4_000; id++) sizes.add(`id${id}`, 0, 1_000, 1);
  const saved = sizes.state(1_000);
  ok(saved.ids.length <= 1_000 && saved.kept < 1);
  const continued = new TimeBucketSizes(HOURLY);
  continued.restore(saved);
  const { count } = continued.result().sizes.bytes;
  ok(count > 3_400 && count < 4_600, `${count}`);
  equal(sizes.result().sizes.bytes.count, 4_000, "saving changes nothing");
});
