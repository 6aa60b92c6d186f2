import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../lib/seeded-random.ts";
import { partsByPairs, spreadHashed, spreadRareParts } from "./spread-rare-parts.ts";
import type { SampledRow } from "../sample.ts";
import type { Part } from "./strategy.ts";

/** Parts of a key as a sample of one row in `weight` shows them. */
function sampledParts(trueRows: readonly number[], weight: number): Part[] {
  const random = new SeededRandom(7);
  return trueRows.flatMap((rows, label) => {
    let sampled = 0;
    for (let nth = 0; nth < rows; nth++) if (random.fraction() < 1 / weight) sampled++;
    if (sampled === 0) return [];
    const estimate = sampled * weight;
    return [
      {
        label,
        rows: estimate,
        bytes: 10 * estimate,
        sampled,
        firstMicros: label,
        lastMicros: label,
        tombstones: estimate / 100,
        count: 1,
      },
    ];
  });
}

function corrected(trueRows: readonly number[], weight: number): readonly Part[] {
  const parts = sampledParts(trueRows, weight);
  const sampled = parts.reduce((sum, part) => sum + part.sampled, 0);
  return spreadRareParts(parts, sampled, Math.min(trueRows.length, partsByPairs(parts)));
}

const largest = (parts: readonly Part[]): number => Math.max(...parts.map(({ rows }) => rows));
const total = (parts: readonly Part[]): number =>
  parts.reduce((sum, { rows, count }) => sum + rows * count, 0);

test("partitions that are alike do not look larger because a sample meets some more often", () => {
  const even = Array.from({ length: 1_000 }, () => 1_000);
  for (const weight of [50, 200, 500]) {
    const parts = corrected(even, weight);
    ok(Math.abs(largest(parts) / 1_000 - 1) < 0.3, `1 in ${weight}: ${largest(parts)}`);
    ok(Math.abs(total(parts) / 1e6 - 1) < 0.05, `1 in ${weight}: ${total(parts)}`);
  }
});

test("a burst stays as large as the sample shows it", () => {
  const burst = Array.from({ length: 1_000 }, (_, nth) => (nth === 400 ? 60_000 : 500));
  const parts = corrected(burst, 100);
  ok(Math.abs(largest(parts) / 60_000 - 1) < 0.1, `${largest(parts)}`);
  ok(Math.abs(total(parts) / 559_500 - 1) < 0.05, `${total(parts)}`);
});

test("partitions that differ a little keep their difference", () => {
  const wave = Array.from({ length: 200 }, (_, nth) => 5_000 + 4_000 * Math.sin(nth / 10));
  const parts = corrected(wave, 20);
  ok(Math.abs(largest(parts) / 9_000 - 1) < 0.12, `${largest(parts)}`);
});

test("rows that stand for themselves are not corrected", () => {
  const parts = sampledParts([3, 9, 1], 1);
  deepEqual(spreadRareParts(parts, 13, 3), parts);
});

test("a hash of rows that all differ spreads them evenly, however few were sampled", () => {
  const random = new SeededRandom(3);
  const weight = 10_000;
  const rows = Array.from({ length: 300 }, () => rowOf(random.below(2 ** 32), weight));
  const parts = [...Map.groupBy(rows, ({ hash }) => hash % 1_000)].map(([label, group]) =>
    partOf(label, group.length * weight, group.length),
  );
  const spread = spreadHashed(parts, rows, 1_000);
  equal(Math.round(spread.reduce((sum, { count }) => sum + count, 0)), 1_000);
  const largest = Math.max(...spread.map((part) => part.rows));
  ok(largest > 3_000 && largest < 3_300, `${largest}`);
  // Two users have all rows: their hash cannot spread them.
  const alike = rows.map(({ hash }) => rowOf(hash % 2, weight));
  const two = [0, 1].map((label) => {
    const sampled = alike.filter(({ hash }) => hash === label).length;
    return partOf(label, sampled * weight, sampled);
  });
  ok(Math.max(...spreadHashed(two, alike, 1_000).map((part) => part.rows)) > 1e6);
});

function rowOf(hash: number, weight: number): SampledRow {
  const deleted = { deletedMicros: undefined, deletedShare: 0 };
  return { timeMicros: 0, writtenMicros: 0, bytes: 10, weight, hash, values: [], ...deleted };
}

function partOf(label: number, rows: number, sampled: number): Part {
  const times = { firstMicros: 0, lastMicros: 0 };
  return { label, rows, bytes: 10 * rows, sampled, ...times, tombstones: 0, count: 1 };
}
