/** The newest segment of a split: the only one that can be unfinished. Pure. */
import type { Segment, SplitRecord } from "../../model/split.ts";

export function newestSegment(record: SplitRecord): Segment | undefined {
  return record.segments.at(-1);
}

/** Changes of the newest segment: only that one is ever unfinished. */
export function withNewest(
  record: SplitRecord,
  changes: Partial<Segment>,
): Pick<SplitRecord, "segments"> {
  const newest = newestSegment(record);
  if (newest === undefined) return { segments: record.segments };
  return { segments: [...record.segments.slice(0, -1), { ...newest, ...changes }] };
}

/** Without a newest segment that is not completed: what a new plan starts from. */
export function completedSegments(record: SplitRecord): readonly Segment[] {
  return record.segments.filter(({ state }) => state === "COMPLETED");
}
