/** How a read of a partition reads a segment of its split. */
import { LAYOUTS } from "../model/layouts.ts";
import type { RouteSegment } from "../model/split.ts";
import type { PartReadRange } from "./part-reader.ts";
import type { ScanRange } from "../ports/event-store.ts";

/** Several blocks: with less, a page would wait for more than one fetch. */
const RUN_BYTES_MIN = 128 * 1024;
/**
 * Together with the fetch in use and the one behind it these are four halves of a fetch, which a
 * read has memory for.
 */
const SUBRANGES_AHEAD = 2;

export function partReadRange(range: ScanRange, segment: RouteSegment): PartReadRange {
  const { from, to, order, after, runEventsMax, level } = range;
  // A reader of parts holds more fetches than a scan does: smaller ones keep it within the read's
  // memory.
  const half = Math.floor(range.runBytesMax / 2);
  const runBytesMax = Math.max(half, Math.min(range.runBytesMax, RUN_BYTES_MIN));
  const meanBytes = segment.events === 0 ? 0 : segment.bytes / segment.events;
  return {
    from,
    to,
    order,
    after,
    runBytesMax,
    // About a page: the mean size of events is known.
    firstBytes: Math.min(runBytesMax, Math.ceil(runEventsMax * meanBytes)),
    firstEvents: runEventsMax,
    // Without blocks a part is proven only when read whole, so it is read whole.
    ...(LAYOUTS[segment.layout].blocks && { subrangesAhead: SUBRANGES_AHEAD }),
    // A majority writes parts; asking fewer replicas would only find blocks missing that exist.
    ...(level !== undefined && { level: { ...level, consistency: strong(level.consistency) } }),
  };
}

type Consistency = NonNullable<ScanRange["level"]>["consistency"];

function strong(consistency: Consistency): Consistency {
  return consistency === "EVENTUAL" ? "READ_YOUR_WRITES" : consistency;
}
