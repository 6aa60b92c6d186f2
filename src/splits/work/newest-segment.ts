/** The newest segment of a split: the only one that can be unfinished. Pure. */
import type { Segment, SplitRecord } from "../../model/split.ts";

export function newestSegment(record: SplitRecord): Segment | undefined {
  return record.segments.at(-1);
}

/** Applies changes to the newest segment, the only one that can be unfinished. */
export function withNewest(
  record: SplitRecord,
  changes: Partial<Segment>,
): Pick<SplitRecord, "segments"> {
  const newest = newestSegment(record);
  if (newest === undefined) return { segments: record.segments };
  return { segments: [...record.segments.slice(0, -1), { ...newest, ...changes }] };
}

/** The completed segments, without an unfinished newest one: a new plan starts from them. */
export function completedSegments(record: SplitRecord): readonly Segment[] {
  return record.segments.filter(({ state }) => state === "COMPLETED");
}
