/** Buckets of the API, which have only an upper limit, as buckets of a picture. */
import type { PartitionHistogram } from "../../../client/connect.ts";

/** Each limit of a histogram of sizes is about so many times the one before. */
const FACTOR = 1.2;

export interface SizeBucket {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** A bucket begins at the limit of the one before, or a step below its own where that was empty. */
export function bucketsOf({ buckets }: Pick<PartitionHistogram, "buckets">): SizeBucket[] {
  let before = 0;
  return buckets.map(({ upToBytes, partitions }) => {
    const to = Number(upToBytes);
    const from = Math.min(Math.max(before, Math.floor(to / FACTOR)), to - 1);
    before = to;
    return { from, to, count: Number(partitions) };
  });
}

export interface TargetShares {
  readonly below: number;
  readonly within: number;
  readonly above: number;
}

/** Shares of the partitions, from 0 to 1; a bucket counts by its middle. */
export function sharesOf(buckets: readonly SizeBucket[], min: number, max: number): TargetShares {
  const counts = { below: 0, within: 0, above: 0 };
  let all = 0;
  for (const { from, to, count } of buckets) {
    const middle = (from + to) / 2;
    counts[middle < min ? "below" : middle > max ? "above" : "within"] += count;
    all += count;
  }
  const share = (count: number): number => (all === 0 ? 0 : count / all);
  return { below: share(counts.below), within: share(counts.within), above: share(counts.above) };
}
