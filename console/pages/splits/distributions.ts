/** Distributions of the API as columns of the histogram. */
import type { HistogramBucket } from "../../kit/histogram-bucket.ts";

interface Counted {
  /** The largest of all. */
  readonly max: string;
  readonly buckets: readonly { readonly upTo: string; readonly count: string }[];
}

/**
 * Both on the same columns, powers of two, so that one can be drawn over the other. A bucket of the
 * API belongs to the column of its upper limit, or of the largest if that is smaller.
 */
export function overlaid(
  first: Counted,
  second: Counted,
): { readonly first: HistogramBucket[]; readonly second: HistogramBucket[] } {
  const topsOf = ({ buckets, max }: Counted): readonly number[] =>
    buckets.map(({ upTo }) => powerOf(Math.min(Number(upTo), Number(max))));
  const tops = [...topsOf(first), ...topsOf(second)];
  const low = Math.min(...tops);
  const high = Math.max(...tops);
  const columnsOf = (counted: Counted): HistogramBucket[] => {
    const own = topsOf(counted);
    return Array.from({ length: high - low + 1 }, (_, nth) => {
      const power = low + nth;
      const count = counted.buckets.reduce(
        (sum, bucket, index) => sum + (own[index] === power ? Number(bucket.count) : 0),
        0,
      );
      return { from: 2 ** (power - 1), to: 2 ** power, count };
    });
  };
  return tops.length === 0
    ? { first: [], second: [] }
    : { first: columnsOf(first), second: columnsOf(second) };
}

/** The smallest power of two that is not below it. */
function powerOf(bytes: number): number {
  return Math.ceil(Math.log2(Math.max(1, bytes)));
}
