/**
 * Which distinct splits were compared or exist, in bounded space (rule C29).
 *
 * A split's mark is a hash of its partition. Of a set of splits only the smallest marks are kept:
 * a union is then the same in whatever order, and however often, the marks arrive. The number of
 * marks is the number of distinct splits up to `SPLIT_MARKS_MAX`. Two splits may share a mark; both
 * sides of a comparison of counts then count them as one.
 */
import { utf8 } from "../lib/bytes.ts";
import { hash32 } from "../lib/hash.ts";
import { partitionText } from "./partition.ts";
import type { PartitionKey } from "./partition.ts";

/** In rising order, none twice. */
export type SplitMarks = readonly number[];

/** The bound of a count of distinct splits. */
export const SPLIT_MARKS_MAX = 128;

const MARK_SEED = 29;

export function splitMarkOf(partition: PartitionKey): number {
  return hash32(utf8(partitionText(partition)), MARK_SEED);
}

export function uniteMarks(a: SplitMarks, b: SplitMarks): SplitMarks {
  if (b.every((mark) => a.includes(mark))) return a;
  const all = [...new Set([...a, ...b])].toSorted((one, other) => one - other);
  return all.slice(0, SPLIT_MARKS_MAX);
}
