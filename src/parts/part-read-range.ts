/** How a read of a partition reads a segment of its split. */
import { LAYOUTS } from "../model/layouts.ts";
import type { RouteSegment } from "../model/split.ts";
import type { PartReadRange } from "./part-reader.ts";
import type { ScanRange } from "../ports/event-store.ts";

/** Several blocks: with less, a page would wait for more than one fetch. */
const RUN_BYTES_MIN = 128 * 1024;
/**
 * Of one fetch each. Together with the one in use these are two fetches, which a read has memory
 * for. More and smaller ones cost more: half the size took a tenth to a fifth more processor time
 * of node and reader (docs/decisions/0023).
 */
const SUBRANGES_AHEAD = 1;

export function partReadRange(range: ScanRange, segment: RouteSegment): PartReadRange {
  const { from, to, order, after, level } = range;
  const isPage = range.eventsWanted !== undefined;
  const eventsWanted = range.eventsWanted ?? range.runEventsMax;
  // A part read as a whole has more fetches under way than a scan: smaller ones keep it within the
  // read's memory.
  const half = Math.floor(range.runBytesMax / 2);
  const runBytesMax = isPage
    ? range.runBytesMax
    : Math.max(half, Math.min(range.runBytesMax, RUN_BYTES_MIN));
  const meanBytes = segment.events === 0 ? 0 : segment.bytes / segment.events;
  return {
    from,
    to,
    order,
    after,
    runBytesMax,
    // About a page: the mean size of events is known.
    firstBytes: Math.min(runBytesMax, Math.ceil(eventsWanted * meanBytes)),
    firstEvents: eventsWanted,
    // Without blocks a part is proven only when read whole, so it is read whole.
    ...(LAYOUTS[segment.layout].blocks && {
      subrangesAhead: SUBRANGES_AHEAD,
      subrangeBytes: range.runBytesMax,
    }),
    ...(isPage && { onDemand: true }),
    // A majority writes parts; asking fewer replicas would only find blocks missing that exist.
    ...(level !== undefined && { level: { ...level, consistency: strong(level.consistency) } }),
  };
}

type Consistency = NonNullable<ScanRange["level"]>["consistency"];

function strong(consistency: Consistency): Consistency {
  return consistency === "EVENTUAL" ? "READ_YOUR_WRITES" : consistency;
}
