/**
 * Partition sizes from the service's own reads: works on every engine and costs storage nothing.
 *
 * Counts by partition, so that a thousand reads of one count once. Memory is bounded: for each
 * slice it keeps a sample of partitions, chosen by hash, so that each has the same chance to be in
 * it however often it is read, and it keeps the slices read last. When a sample is full, half of it
 * is dropped, and each remaining one represents twice as many.
 */
import { quantity } from "../lib/quantity.ts";
import { LRUCache } from "lru-cache";
import { utf8 } from "../lib/bytes.ts";
import type { Clock } from "../lib/clock.ts";
import { hash32 } from "../lib/hash.ts";
import type { PartitionKey, SliceRef } from "../model/partition.ts";
import { SizeHistogram } from "../model/size-histogram.ts";
import type { PartitionRead } from "../partition/partition-read.ts";
import type { PartitionSizes, SizeReport } from "../ports/partition-sizes.ts";

export interface ReadSizesOptions {
  readonly clock: Clock;
  /** Partitions kept for each slice. About 60 bytes each. */
  readonly sampleMax?: number;
  /**
   * Slices kept; beyond it the one read longest ago is forgotten. With 1,024 partitions each: about
   * 16 MB.
   */
  readonly slicesMax?: number;
}

const TELLS =
  "the sizes of the partitions this server has read, in bytes of events as the API encodes them";
const DOES_NOT_TELL =
  "partitions that were never read, or only through other servers; of a partition never read to its end " +
  "only what was read, a lower bound; event buckets of one time bucket that were read in several pages " +
  "are reported by their mean";

export class ReadSizes implements PartitionSizes {
  readonly source = "READS";
  readonly #clock: Clock;
  readonly #sampleMax: number;
  /** In the order they were last read. */
  readonly #slices: LRUCache<string, Sample>;

  constructor({ clock, sampleMax = 1_024, slicesMax = 256 }: ReadSizesOptions) {
    this.#clock = clock;
    this.#sampleMax = sampleMax;
    this.#slices = new LRUCache({ max: slicesMax });
  }

  /** Called with every partition that was read; returns at once. */
  note(read: Pick<PartitionRead, "partition" | "bytes" | "whole">): void {
    // An empty partition does not exist in storage.
    if (read.bytes === 0) return;
    this.#sampleOf(read.partition).note(hashOf(read.partition), read.bytes, read.whole);
  }

  // A promise because the port requires one: other sources have to ask.
  sizesOf(slice: SliceRef): Promise<SizeReport> {
    const sample = this.#slices.peek(nameOf(slice)) ?? new Sample(this.#sampleMax);
    const histogram = sample.histogram();
    return Promise.resolve({
      kind: "sizes",
      source: this.source,
      count: histogram.count,
      meanBytes: histogram.meanBytes,
      maxBytes: histogram.maxBytes,
      histogram,
      coverage: coverageOf(sample, histogram.count),
      tells: TELLS,
      doesNotTell: DOES_NOT_TELL,
      asOf: this.#clock.nowMicros(),
    });
  }

  #sampleOf(slice: SliceRef): Sample {
    const name = nameOf(slice);
    const sample = this.#slices.get(name) ?? new Sample(this.#sampleMax);
    this.#slices.set(name, sample);
    return sample;
  }
}

interface Seen {
  bytes: number;
  whole: boolean;
}

const HASHES = 2 ** 32;

/** Partitions whose hash is below a limit, which is halved when there are too many. */
class Sample {
  readonly #max: number;
  readonly #seen = new Map<number, Seen>();
  #limit = HASHES;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#seen.size;
  }

  get wholes(): number {
    return this.#seen.values().reduce((count, { whole }) => count + (whole ? 1 : 0), 0);
  }

  note(hash: number, bytes: number, whole: boolean): void {
    if (hash >= this.#limit) return;
    const seen = this.#seen.get(hash);
    if (seen === undefined) {
      this.#seen.set(hash, { bytes, whole });
      while (this.#seen.size > this.#max) this.#halve();
    } else if (bytes > seen.bytes || (whole && bytes === seen.bytes)) {
      // Events are never removed, so the most that was read is the closest to its size.
      seen.bytes = bytes;
      seen.whole = whole;
    }
  }

  histogram(): SizeHistogram {
    const histogram = new SizeHistogram();
    const weight = HASHES / this.#limit;
    for (const { bytes } of this.#seen.values()) histogram.add(bytes, weight);
    return histogram;
  }

  #halve(): void {
    this.#limit /= 2;
    for (const hash of this.#seen.keys()) if (hash >= this.#limit) this.#seen.delete(hash);
  }
}

function coverageOf(sample: Sample, count: number): string {
  if (count === 0) return "this server has read no partition of this slice";
  const all = `${quantity(count, "partition")} read by this server`;
  const which = count === sample.size ? all : `a sample of ${sample.size} of about ${all}`;
  return `${which}, ${sample.wholes} of them to the end`;
}

function nameOf({ namespaceId, slice }: SliceRef): string {
  return `${namespaceId}/${slice}`;
}

/** Two partitions with the same hash count as one: about a hundred pairs in a million. */
function hashOf({ seriesId, timeBucket, eventBucket }: PartitionKey): number {
  const seed = (Math.imul(timeBucket, 0x9e3779b1) + eventBucket) >>> 0;
  return hash32(utf8(seriesId), seed);
}
