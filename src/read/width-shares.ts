/**
 * How much of a time bucket's width each of its event buckets has. Pure.
 *
 * Width is what was read of originals. What this reader has read is known by source; of the pages
 * before only the sum is, and hashing has spread it evenly. An event bucket that is split has no
 * part in either: it is not to be found wide again, nor to make the others look narrow.
 */
import type { PartitionSource, RouteName } from "../partition/partition-source.ts";

export interface Width {
  readonly bytes: number;
  readonly events: number;
}

/** What the share of a source is made of. */
export type SharedSource = Pick<
  PartitionSource,
  "route" | "bytes" | "originalBytes" | "originalEvents"
>;

const NOTHING: Width = { bytes: 0, events: 0 };

/**
 * The shares, in the order of the sources. `before`: of the pages before. `examined`: by this
 * reader, no more than the originals gave; so no share says more than was read of its partition.
 */
export function widthShares(
  sources: readonly SharedSource[],
  before: Width,
  examined: Width,
): readonly Width[] {
  let [unsplit, bytes, events] = [0, 0, 0];
  for (const source of sources) {
    if (readsOriginal(source)) unsplit++;
    bytes += source.originalBytes;
    events += source.originalEvents;
  }
  return sources.map((source) => {
    if (!readsOriginal(source)) return NOTHING;
    const { originalBytes, originalEvents } = source;
    return {
      bytes: Math.round(before.bytes / unsplit + partOf(examined.bytes, originalBytes, bytes)),
      events: Math.round(before.events / unsplit + partOf(examined.events, originalEvents, events)),
    };
  });
}

export function readsSplit(route: RouteName): boolean {
  return route === "SPLIT" || route === "SPLIT_AND_ORIGINAL";
}

/** One that has come to its end hands on nothing more: it keeps its share of the pages before. */
function readsOriginal({ route, bytes, originalBytes }: SharedSource): boolean {
  return originalBytes > 0 || (bytes === 0 && !readsSplit(route.route));
}

export function partOf(sum: number, part: number, whole: number): number {
  return whole === 0 ? 0 : (sum * part) / whole;
}
