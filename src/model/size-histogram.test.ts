import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { SIZE_BUCKETS, SizeHistogram } from "./size-histogram.ts";

function histogramOf(sizes: readonly number[]): SizeHistogram {
  const histogram = new SizeHistogram();
  for (const bytes of sizes) histogram.add(bytes);
  return histogram;
}

test("an array of Cassandra's counts gives the same results as Cassandra's own tools", () => {
  // A node of 5.0 counted 19 partitions of 50,000 bytes and one of 2,000,000; the largest and the
  // mean are its own numbers.
  const counts = Array.from({ length: 156 }, () => 0);
  counts[55] = 19;
  counts[76] = 1;
  const histogram = SizeHistogram.ofCounts(counts);
  equal(histogram.count, 20);
  equal(histogram.maxBytes, 2_346_799);
  equal(histogram.meanBytes, 165_802);
  equal(histogram.percentile(0.5), 51_012);
  equal(histogram.percentile(0.95), 51_012);
  equal(histogram.percentile(0.99), 2_346_799);
  const buckets = histogram.buckets();
  equal(buckets.length, 22);
  deepEqual(buckets[0], { upToBytes: 51_012, partitions: 19 });
  deepEqual(buckets.at(-1), { upToBytes: 2_346_799, partitions: 1 });
});

test("without partitions every statistic is 0, also from an array without counts", () => {
  for (const histogram of [new SizeHistogram(), SizeHistogram.ofCounts([])]) {
    equal(histogram.count, 0);
    equal(histogram.meanBytes, 0);
    equal(histogram.percentile(0.99), 0);
    deepEqual(histogram.buckets(), []);
    equal(histogram.scaled(3).count, 0);
  }
});

const sizes = fc.array(fc.integer({ min: 1, max: 1e12 }), { minLength: 1, maxLength: 200 });

test("a percentile is not below the true one, and at most a fifth above", () => {
  fc.assert(
    fc.property(sizes, fc.double({ min: 0.01, max: 1, noNaN: true }), (all, share) => {
      const sorted = all.toSorted((a, b) => a - b);
      const exact = sorted[Math.ceil(all.length * share) - 1] as number;
      const told = histogramOf(all).percentile(share);
      ok(told >= exact, `${told} is below ${exact}`);
      // Below 10 bytes a bucket is one byte wide.
      ok(told <= exact * 1.2 + 1, `${told} is far above ${exact}`);
    }),
    { verbose: true },
  );
});

test("merging is the same as counting all at once", () => {
  fc.assert(
    fc.property(sizes, sizes, (some, others) => {
      const merged = histogramOf(some);
      merged.merge(histogramOf(others));
      const all = histogramOf([...some, ...others]);
      deepEqual(merged.buckets(), all.buckets());
      equal(merged.count, all.count);
      equal(merged.maxBytes, all.maxBytes);
      equal(merged.meanBytes, all.meanBytes);
    }),
    { verbose: true },
  );
});

test("three copies divided by three give the original partitions", () => {
  fc.assert(
    fc.property(sizes, (some) => {
      const copies = new SizeHistogram();
      for (let copy = 0; copy < 3; copy++) copies.merge(histogramOf(some));
      const divided = copies.scaled(1 / 3);
      deepEqual(divided.buckets(), histogramOf(some).buckets());
      equal(divided.count, some.length);
      equal(divided.maxBytes, Math.max(...some));
    }),
    { verbose: true },
  );
});

test("a copy that only one node has does not vanish by division", () => {
  const histogram = new SizeHistogram();
  histogram.add(1_000);
  equal(histogram.scaled(1 / 3).count, 1);
  equal(histogram.scaled(1 / 3).meanBytes, 1_000);
});

test("sizes beyond the last bound are in the last bucket", () => {
  const histogram = histogramOf([Number.MAX_SAFE_INTEGER]);
  equal(histogram.count, 1);
  equal(histogram.buckets().length, 1);
  const counts = Array.from({ length: SIZE_BUCKETS }, (_, nth) =>
    nth === SIZE_BUCKETS - 1 ? 1 : 0,
  );
  deepEqual(SizeHistogram.ofCounts(counts).buckets(), histogram.buckets());
});

test("a histogram as a plain value has whole numbers and is the same histogram again", () => {
  const histogram = new SizeHistogram();
  histogram.add(700, 2.4);
  histogram.add(1_000_000, 0.2);
  const distribution = histogram.distribution();
  deepEqual(
    distribution.buckets.map(([, count]) => count),
    [2, 1],
  );
  equal(distribution.count, 3);
  equal(distribution.min, 700);
  equal(distribution.max, 1_000_000);
  deepEqual(SizeHistogram.of(distribution).distribution(), distribution);
  deepEqual(SizeHistogram.of(new SizeHistogram().distribution()).distribution().buckets, []);
});
