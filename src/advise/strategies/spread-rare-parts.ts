/**
 * Corrects the partitions of a key for the rows that a sample lacks: where a sampled row stands for
 * many, the partitions with few sampled rows are more, and smaller, than they look. Pure.
 */
import type { Part } from "./strategy.ts";

/** A partition with so many sampled rows is as large as they say. */
const SAMPLED_ENOUGH = 5;
/** A smaller difference is within the error of the estimate. */
const TIMES_MIN = 1.5;

/** `expected`: the estimated number of partitions of the key. */
export function spreadRareParts(
  parts: readonly Part[],
  sampled: number,
  expected: number,
): readonly Part[] {
  const total = parts.reduce((sum, part) => sum + part.rows, 0);
  if (total < TIMES_MIN * sampled || expected < TIMES_MIN * parts.length) return parts;
  const common = parts.filter((part) => part.sampled >= SAMPLED_ENOUGH);
  const rare = parts.filter((part) => part.sampled < SAMPLED_ENOUGH);
  if (rare.length === 0) return parts;
  const count = Math.max(rare.length, expected - common.length);
  let [rows, bytes, tombstones] = [0, 0, 0];
  let [firstMicros, lastMicros] = [Number.NaN, Number.NaN];
  for (const part of rare) {
    rows += part.rows;
    bytes += part.bytes;
    tombstones += part.tombstones;
    if (!(part.firstMicros >= firstMicros)) firstMicros = part.firstMicros;
    if (!(part.lastMicros <= lastMicros)) lastMicros = part.lastMicros;
  }
  const alike: Part = {
    label: -1,
    rows: rows / count,
    bytes: bytes / count,
    sampled: 1,
    firstMicros,
    lastMicros,
    tombstones: tombstones / count,
    count,
  };
  return [alike, ...common];
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
