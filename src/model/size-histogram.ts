/**
 * A histogram of partition sizes, in bytes or in events. Bucket bounds grow by a fifth, so that a size is known to within
 * 20 % from one byte to terabytes, in fixed memory.
 *
 * The bounds are those of Cassandra's estimated histograms: its arrays of counts are used
 * unchanged, and percentiles match what its own tools print. Pure.
 */
import { assert } from "../lib/errors.ts";

/** Partitions larger than the previous bucket's bound and at most `upToBytes`. */
export interface SizeBucket {
  readonly upToBytes: number;
  readonly partitions: number;
}

/** A histogram as a plain value: what is stored, and what decisions get. Also counts events. */
export interface Distribution {
  readonly count: number;
  /** The sum of all sizes. */
  readonly total: number;
  /** Exact; 0 if there are none. */
  readonly min: number;
  readonly max: number;
  /** Rising: the bucket's bound, and how many are at most that large and above the one before. */
  readonly buckets: readonly (readonly [upTo: number, count: number])[];
}

/** The last one holds everything larger: more than 3.5 TB. */
export const SIZE_BUCKETS = 156;

const UP_TO_BYTES: readonly number[] = boundsOf(SIZE_BUCKETS);

export class SizeHistogram {
  readonly #partitions = new Float64Array(SIZE_BUCKETS);
  #count = 0;
  #bytes = 0;
  #maxBytes = 0;
  #minBytes = 0;

  /** The histogram that `distribution` described. */
  static of({ count, total, min, max, buckets }: Distribution): SizeHistogram {
    const histogram = new SizeHistogram();
    for (const [bound, partitions] of buckets) histogram.add(bound, partitions);
    histogram.#count = count;
    histogram.#bytes = total;
    histogram.#minBytes = min;
    histogram.#maxBytes = max;
    return histogram;
  }

  /** From Cassandra's array; each partition counts as large as its bucket allows. */
  static ofCounts(counts: readonly number[]): SizeHistogram {
    assert(counts.length <= SIZE_BUCKETS, "there is a bucket for every count");
    const histogram = new SizeHistogram();
    counts.forEach((partitions, bucket) => histogram.add(upTo(bucket), partitions));
    return histogram;
  }

  get count(): number {
    return this.#count;
  }

  /** 0 if there are none. */
  get meanBytes(): number {
    return this.#count === 0 ? 0 : Math.ceil(this.#bytes / this.#count);
  }

  get maxBytes(): number {
    return this.#maxBytes;
  }

  /** 0 if there are none. */
  get minBytes(): number {
    return this.#minBytes;
  }

  /** The sum of all sizes. */
  get totalBytes(): number {
    return this.#bytes;
  }

  /** Adds `partitions` partitions of this size. */
  add(bytes: number, partitions = 1): void {
    if (partitions <= 0) return;
    const bucket = bucketOf(bytes);
    this.#partitions[bucket] = this.#at(bucket) + partitions;
    this.#minBytes = this.#count === 0 ? bytes : Math.min(this.#minBytes, bytes);
    this.#count += partitions;
    this.#bytes += bytes * partitions;
    this.#maxBytes = Math.max(this.#maxBytes, bytes);
  }

  merge(other: SizeHistogram): void {
    for (let bucket = 0; bucket < SIZE_BUCKETS; bucket++) {
      this.#partitions[bucket] = this.#at(bucket) + other.#at(bucket);
    }
    if (other.#count > 0) {
      const { minBytes } = other;
      this.#minBytes = this.#count === 0 ? minBytes : Math.min(this.#minBytes, minBytes);
    }
    this.#count += other.#count;
    this.#bytes += other.#bytes;
    this.#maxBytes = Math.max(this.#maxBytes, other.#maxBytes);
  }

  /**
   * The histogram with `factor` times the partitions: whole numbers, and rounding makes none
   * vanish.
   */
  scaled(factor: number): SizeHistogram {
    const scaled = new SizeHistogram();
    for (let bucket = 0; bucket < SIZE_BUCKETS; bucket++) {
      const partitions = this.#at(bucket);
      if (partitions === 0) continue;
      const share = Math.max(1, Math.round(partitions * factor));
      scaled.#partitions[bucket] = share;
      scaled.#count += share;
    }
    scaled.#bytes = this.#count === 0 ? 0 : (this.#bytes / this.#count) * scaled.#count;
    scaled.#maxBytes = this.#maxBytes;
    scaled.#minBytes = this.#minBytes;
    return scaled;
  }

  /** The same partitions, each `factor` times as large; as exact as the buckets are. */
  resized(factor: number): SizeHistogram {
    const resized = new SizeHistogram();
    for (let bucket = 0; bucket < SIZE_BUCKETS; bucket++) {
      resized.add(Math.round(Math.min(upTo(bucket), this.#maxBytes) * factor), this.#at(bucket));
    }
    resized.#bytes = this.#bytes * factor;
    resized.#minBytes = Math.round(this.#minBytes * factor);
    return resized;
  }

  /** A size that this share of the partitions does not exceed; 0 if there are none. */
  percentile(share: number): number {
    const wanted = Math.max(1, Math.ceil(this.#count * share));
    let seen = 0;
    for (let bucket = 0; bucket < SIZE_BUCKETS; bucket++) {
      seen += this.#at(bucket);
      if (seen >= wanted) return Math.min(upTo(bucket), this.#maxBytes);
    }
    return this.#maxBytes;
  }

  /** In whole numbers; a bucket that holds anything keeps at least one. */
  distribution(): Distribution {
    const buckets: [number, number][] = [];
    let count = 0;
    for (let bucket = 0; bucket < SIZE_BUCKETS; bucket++) {
      if (this.#at(bucket) === 0) continue;
      const partitions = Math.max(1, Math.round(this.#at(bucket)));
      buckets.push([upTo(bucket), partitions]);
      count += partitions;
    }
    const total = Math.round(this.#bytes);
    return { count, total, min: this.#minBytes, max: this.#maxBytes, buckets };
  }

  /** Without a gap, from the smallest bucket with partitions to the largest. */
  buckets(): SizeBucket[] {
    const first = this.#partitions.findIndex((partitions) => partitions > 0);
    const last = this.#partitions.findLastIndex((partitions) => partitions > 0);
    if (first < 0) return [];
    return Array.from(this.#partitions.subarray(first, last + 1), (partitions, nth) => {
      return { upToBytes: upTo(first + nth), partitions };
    });
  }

  #at(bucket: number): number {
    return this.#partitions[bucket] as number;
  }
}

function boundsOf(count: number): number[] {
  const bounds = [1];
  for (let last = 1; bounds.length < count; bounds.push(last)) {
    last = Math.max(last + 1, Math.round(last * 1.2));
  }
  return bounds;
}

function upTo(bucket: number): number {
  return UP_TO_BYTES[bucket] as number;
}

/** The first bucket whose bound is not below. */
function bucketOf(bytes: number): number {
  let low = 0;
  let high = SIZE_BUCKETS - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (upTo(middle) < bytes) low = middle + 1;
    else high = middle;
  }
  return low;
}
