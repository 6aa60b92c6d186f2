/** Which blocks of a part a read asks the store for: those that hold a range of events. */
import type { PartRecord } from "../model/split.ts";
import type { BlockRange, Order, ServiceLevel } from "../ports/event-store.ts";
import { comparePositions } from "../wire/frames.ts";
import { startOf } from "./block-cut.ts";
import type { Bounds } from "./block-cut.ts";

interface Wanted {
  readonly order: Order;
  readonly runBytesMax: number;
  readonly firstBytes: number;
  readonly level?: ServiceLevel;
}

/** Event time, including `from`, excluding `to`. */
interface Times {
  readonly from: number;
  readonly to: number;
}

export function blockRangeOf(part: PartRecord, range: Wanted, bounds: Bounds): BlockRange {
  // Where the range covers an end of the part, no block has to be searched there.
  const low = comparePositions(bounds.low, startOf(part.from)) > 0 ? bounds.low : undefined;
  const high = comparePositions(bounds.high, startOf(part.to)) < 0 ? bounds.high : undefined;
  const [at, until] = range.order === "NEWEST_FIRST" ? [high, low] : [low, high];
  return {
    order: range.order,
    at,
    until,
    firstBlocks: Math.min(part.blocks, firstBlocksOf(range.firstBytes / part.blockBytesMax)),
    fetchBytesMax: range.runBytesMax,
    blockBytesMax: part.blockBytesMax,
    ...levelOf(range),
  };
}

/**
 * The blocks of a range whose keys lie in a subrange of it: `whole` is cut into subranges, and each
 * block belongs to exactly one of them.
 */
export function blocksOfSubrange(range: BlockRange, whole: Times, { from, to }: Times): BlockRange {
  const { order } = range;
  const keys = from === whole.from ? {} : { keyTimeMin: from };
  const before = to === whole.to ? undefined : startOf(to);
  if (order === "NEWEST_FIRST") {
    const until = from === whole.from ? range.until : undefined;
    return { ...range, ...keys, at: before ?? range.at, until };
  }
  const at = from === whole.from ? range.at : undefined;
  return { ...range, ...keys, at, until: before ?? range.until };
}

export function levelOf({ level }: Pick<Wanted, "level">): { level?: ServiceLevel } {
  return level === undefined ? {} : { level };
}

/** A page of so little is rarely cut by the end of a block. */
const SMALL_SHARE = 1 / 8;

/** One more, as the first one is often cut, or used up by the previous page. */
function firstBlocksOf(blocksWanted: number): number {
  return blocksWanted <= SMALL_SHARE ? 1 : Math.ceil(blocksWanted) + 1;
}
