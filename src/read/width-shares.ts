/**
 * Divides a time bucket's width between its event buckets. Pure.
 *
 * Width is what was read of originals. For this reader it is known by source; for earlier pages
 * only the sum is known, and hashing has spread it evenly. A split event bucket has no share in
 * either: it must not be found wide again, nor make the others look narrow.
 */
import type { PartitionSource, RouteName } from "../partition/partition-source.ts";

export interface Width {
  readonly bytes: number;
  readonly events: number;
}

/** The fields of a source that determine its share. */
export type SharedSource = Pick<
  PartitionSource,
  "route" | "bytes" | "originalBytes" | "originalEvents"
>;

const NOTHING: Width = { bytes: 0, events: 0 };

/**
 * The shares, in the order of the sources. `before`: of earlier pages. `examined`: by this reader,
 * at most what the originals returned; so no share exceeds what was read of its partition.
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

/** A source at its end returns nothing more: it keeps its share of earlier pages. */
function readsOriginal({ route, bytes, originalBytes }: SharedSource): boolean {
  return originalBytes > 0 || (bytes === 0 && !readsSplit(route.route));
}

export function partOf(sum: number, part: number, whole: number): number {
  return whole === 0 ? 0 : (sum * part) / whole;
}
