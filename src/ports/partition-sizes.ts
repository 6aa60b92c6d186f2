/**
 * Reports how large the partitions of a slice are, from the service's own reads and from the
 * storage's statistics.
 *
 * Sources differ in what they count and in what they miss. Each states both in words beside its
 * numbers, and a source that is not available says why instead of failing.
 */
import type { Micros } from "../lib/time-units.ts";
import type { SliceRef } from "../model/partition.ts";
import type { SizeHistogram } from "../model/size-histogram.ts";
import type { TimeSlice } from "../model/time-slice.ts";

/**
 * WALK: a walk over all partitions of the slice, in bytes of events. READS: what this process has read, in bytes of events. JMX: the storage's histogram of what its
 * data files hold. TABLE_ESTIMATES: the storage's count, mean and largest, without a histogram.
 */
export type SizeSource = "WALK" | "READS" | "TABLE_ESTIMATES" | "JMX";

export interface SizeReport {
  readonly kind: "sizes";
  readonly source: SizeSource;
  /** Partitions, approximately. */
  readonly count: number;
  readonly meanBytes: number;
  readonly maxBytes: number;
  /** Undefined where the source has none. */
  readonly histogram: SizeHistogram | undefined;
  /** How much of the whole the source has seen. */
  readonly coverage: string;
  readonly tells: string;
  readonly doesNotTell: string;
  /** When the source was asked, in microseconds. */
  readonly asOf: Micros;
}

/** What the storage itself said about a slice when it was settled, the best source first. */
export interface SliceReports extends Pick<TimeSlice, "start" | "end" | "timePartition"> {
  readonly timeSlice: string;
  readonly reports: readonly SizeReport[];
}

export interface NoSizes {
  readonly kind: "none";
  readonly source: SizeSource;
  readonly reason: string;
}

export interface PartitionSizes {
  readonly source: SizeSource;

  /**
   * The sizes in a slice; a count of 0 if it has no partitions or does not exist. Bounded in time.
   * Rejects only when the signal aborts, with its reason.
   */
  sizesOf(slice: SliceRef, signal: AbortSignal): Promise<SizeReport | NoSizes>;
}
