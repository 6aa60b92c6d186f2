/**
 * Which positions of a list that nobody can remove from are settled: ranges [from, to), sorted and
 * without overlap. Neighbours become one, so settling in order costs one range. Pure.
 */
export type OffsetRange = readonly [from: number, to: number];

export function isSettled(ranges: readonly OffsetRange[], offset: number): boolean {
  return ranges.some(([from, to]) => from <= offset && offset < to);
}

/** The first offset at or behind this one that is not settled. */
export function nextUnsettled(ranges: readonly OffsetRange[], offset: number): number {
  const around = ranges.find(([from, to]) => from <= offset && offset < to);
  return around?.[1] ?? offset;
}

/** With these offsets settled too. `first`: what lies before is gone, and one range is enough. */
export function settle(
  ranges: readonly OffsetRange[],
  offsets: readonly number[],
  first: number,
): readonly OffsetRange[] {
  const added = offsets.map((offset): OffsetRange => [offset, offset + 1]);
  const gone: OffsetRange[] = first > 0 ? [[0, first]] : [];
  const sorted = [...gone, ...ranges, ...added].toSorted(([a], [b]) => a - b);
  const merged: OffsetRange[] = [];
  for (const [from, to] of sorted) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last[1]) {
      merged[merged.length - 1] = [last[0], Math.max(last[1], to)];
    } else {
      merged.push([from, to]);
    }
  }
  return merged;
}

/** How many of [from, to) are not settled. */
export function unsettledIn(ranges: readonly OffsetRange[], from: number, to: number): number {
  let open = Math.max(0, to - from);
  for (const [start, end] of ranges) {
    open -= Math.max(0, Math.min(end, to) - Math.max(start, from));
  }
  return open;
}
