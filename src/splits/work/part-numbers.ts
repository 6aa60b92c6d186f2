/**
 * The part numbers of a split. The owner reserves them in the record before it uses them, and no
 * number is used twice, so that writes of a dead or late worker never collide with those of another
 * (rule C8).
 */
import { ServiceError } from "../../lib/errors.ts";
import { PARTS_PER_PARTITION } from "../../model/split.ts";
import type { PartNumberRange, SplitRecord } from "../../model/split.ts";

/** The change that reserves `count` more part numbers, starting at the record's `nextPart`. */
export function reserveParts(record: SplitRecord, count: number): Pick<SplitRecord, "nextPart"> {
  const nextPart = record.nextPart + count;
  if (nextPart > PARTS_PER_PARTITION) {
    throw new ServiceError(
      "CONFLICT",
      `all ${PARTS_PER_PARTITION} numbers for parts of this partition are used up`,
    );
  }
  return { nextPart };
}

export function countParts(partRanges: readonly PartNumberRange[]): number {
  let parts = 0;
  for (const { count } of partRanges) parts += count;
  return parts;
}

/** The ranges with one more part at the end. */
export function withPart(
  partRanges: readonly PartNumberRange[],
  part: number,
): readonly PartNumberRange[] {
  const last = partRanges.at(-1);
  if (last === undefined || last.start + last.count !== part) {
    return [...partRanges, { start: part, count: 1 }];
  }
  return [...partRanges.slice(0, -1), { start: last.start, count: last.count + 1 }];
}
