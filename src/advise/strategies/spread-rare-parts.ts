/**
 * Corrects the partitions of a key for the rows that a sample lacks: where a sampled row stands for
 * many, the partitions with few sampled rows are more, and smaller, than they look; and of many
 * partitions that are alike, the sample meets some more often by chance. Pure.
 */
import type { SampledRow } from "../sample.ts";
import type { Part } from "./strategy.ts";

/** A partition with so many sampled rows is as large as they say. */
const SAMPLED_ENOUGH = 5;
/** A smaller difference is within the error of the estimate. */
const TIMES_MIN = 1.5;

/**
 * The same for partitions by a hash. If hardly any two sampled rows have the same hash, the rows are
 * spread evenly, whatever the few that were sampled look like: only chance makes one larger.
 */
export function spreadHashed(
  parts: readonly Part[],
  rows: readonly SampledRow[],
  expected: number,
): readonly Part[] {
  const total = sumOf(parts, (part) => part.rows);
  const isEven = new Set(rows.map(({ hash }) => hash)).size >= DISTINCT_MIN * rows.length;
  if (total < TIMES_MIN * rows.length || !isEven) {
    return spreadRareParts(parts, rows.length, expected);
  }
  const count = Math.max(1, expected);
  const even = alike(parts, [], count);
  const largest = scaled(
    even,
    Math.min(total, even.rows + LARGEST_DEVIATIONS * Math.sqrt(even.rows)),
  );
  return count < 2
    ? [even]
    : [
        { ...largest, count: 1 },
        { ...even, count: count - 1 },
      ];
}

/** The share of the sampled rows with a hash of their own. */
const DISTINCT_MIN = 0.99;
/** Of some hundred partitions with rows by chance, the largest is about so many deviations larger. */
const LARGEST_DEVIATIONS = 3;

/** `expected`: the estimated number of partitions of the key. */
export function spreadRareParts(
  parts: readonly Part[],
  sampled: number,
  expected: number,
): readonly Part[] {
  const total = parts.reduce((sum, part) => sum + part.rows, 0);
  if (total < TIMES_MIN * sampled) return parts;
  const count = Math.max(parts.length, expected);
  const mean = total / count;
  const kept = keptOf(parts, count, mean);
  const shrunk = parts.map((part) => scaled(part, mean + kept * (part.rows - mean)));
  const few = expected >= TIMES_MIN * parts.length;
  const common = few ? shrunk.filter((part) => part.sampled >= SAMPLED_ENOUGH) : shrunk;
  const others = count - common.length;
  return others > 0 ? [alike(parts, common, others), ...common] : common;
}

/**
 * How much of the difference between partitions is theirs, from 0 to 1: the rest is the chance of
 * the sample. A row that stands for w rows gives its partition a variance of w (w - 1). Rows that
 * fall on partitions at random have at least the variance of their mean.
 */
function keptOf(parts: readonly Part[], count: number, mean: number): number {
  let [squares, chance] = [0, 0];
  for (const { rows, sampled } of parts) {
    squares += rows * rows;
    chance += rows * Math.max(0, rows / sampled - 1);
  }
  const seen = squares / count - mean * mean;
  // The variance of few partitions is itself by chance: two standard errors of it are.
  const byChance = (chance / count) * (1 + 2 * Math.sqrt(2 / count));
  return seen <= 0 ? 0 : Math.min(1, Math.sqrt(Math.max(mean, seen - byChance) / seen));
}

/** The part with so many rows, each as before. */
export function scaled(part: Part, rows: number): Part {
  const times = rows / part.rows;
  return { ...part, rows, bytes: part.bytes * times, tombstones: part.tombstones * times };
}

/** What the common ones leave of all rows, in `count` equal partitions. */
function alike(parts: readonly Part[], common: readonly Part[], count: number): Part {
  const left = (of: (part: Part) => number): number =>
    Math.max(0, sumOf(parts, of) - sumOf(common, of)) / count;
  return {
    label: -1,
    rows: left(({ rows }) => rows),
    bytes: left(({ bytes }) => bytes),
    sampled: 1,
    firstMicros: parts.reduce((least, part) => Math.min(least, part.firstMicros), Infinity),
    lastMicros: parts.reduce((most, part) => Math.max(most, part.lastMicros), -Infinity),
    tombstones: left(({ tombstones }) => tombstones),
    count,
  };
}

function sumOf(parts: readonly Part[], of: (part: Part) => number): number {
  return parts.reduce((sum, part) => sum + of(part), 0);
}

/**
 * How many partitions a key has, by how often two sampled rows share one: with many partitions most
 * are seen once or never, but the pairs tell how many rows each has.
 */
export function partsByPairs(parts: readonly Part[]): number {
  let [sampled, total, pairs] = [0, 0, 0];
  for (const part of parts) {
    sampled += part.sampled;
    total += part.rows;
    pairs += part.sampled * (part.sampled - 1);
  }
  if (sampled < 2) return parts.length;
  return total / (1 + (pairs / (sampled * (sampled - 1))) * (total - 1));
}
