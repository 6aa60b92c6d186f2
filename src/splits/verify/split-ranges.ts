/**
 * The ranges by which a split is compared: each is small enough to begin again, and together they
 * are the time that its segments cover, without a gap, whatever the parts say about themselves.
 */
import type { PartRecord, RouteSegment } from "../../model/split.ts";
import { strategyOf } from "../../model/strategies/strategies.ts";
import type { CursorRange } from "./event-cursor.ts";

export interface SplitRange extends CursorRange {
  readonly segment: RouteSegment;
  /** None where nothing was copied; several where they are not in order. */
  readonly parts: readonly PartRecord[];
}

/** Of one segment: a part each, the newest first; one that is not in order is a single range. */
export function rangesOf(segment: RouteSegment, parts: readonly PartRecord[]): SplitRange[] {
  const { from, to } = segment;
  if (!strategyOf(segment).ordered || parts.length <= 1) return [{ segment, parts, from, to }];
  return parts.map((part, nth) => ({
    segment,
    parts: [part],
    from: nth === parts.length - 1 ? from : part.from,
    to: parts[nth - 1]?.from ?? to,
  }));
}
