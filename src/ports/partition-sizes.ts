/**
 * Who knows how large the partitions of a slice are: the service's own reads, and whatever the storage
 * tells about itself.
 *
 * Sources differ in what they count and in what they miss. So each says both in words, beside its
 * numbers, and one that cannot be asked says why instead of failing.
 */
import type { Micros } from "../lib/time-units.ts";
import type { SliceRef } from "../model/partition.ts";
import type { SizeHistogram } from "../model/size-histogram.ts";

/**
 * READS: what this process has read, in bytes of events. JMX: the storage's histogram of what its data
 * files hold. TABLE_ESTIMATES: its count, mean and largest, without a histogram.
 */
export type SizeSource = "READS" | "TABLE_ESTIMATES" | "JMX";

export interface SizeReport {
  readonly kind: "sizes";
  readonly source: SizeSource;
  /** Partitions, about. */
  readonly count: number;
  readonly meanBytes: number;
  readonly maxBytes: number;
  /** Undefined where the source has none. */
  readonly histogram: SizeHistogram | undefined;
  /** How much of the whole was seen. */
  readonly coverage: string;
  readonly tells: string;
  readonly doesNotTell: string;
  /** When it was asked, in microseconds. */
  readonly asOf: Micros;
}

export interface NoSizes {
  readonly kind: "none";
  readonly source: SizeSource;
  readonly reason: string;
}

export interface PartitionSizes {
  readonly source: SizeSource;

  /**
   * The sizes in a slice; a count of 0 for one that has no partitions, or that is not there. Bounded
   * in time, and rejects only when the signal aborts, with its reason.
   */
  sizesOf(slice: SliceRef, signal: AbortSignal): Promise<SizeReport | NoSizes>;
}
