/**
 * A range of event time with its own table and its own frozen strategy. Slices of a namespace join
 * without gap or overlap.
 */
import type { TimePartition } from "./namespace-config.ts";

export interface TimeSlice {
  /** `data_20260328`: derived from its start; also the name of its table. */
  readonly name: string;
  /**
   * Microseconds, including the start, excluding the end. Both are whole multiples of its width.
   */
  readonly start: number;
  readonly end: number;
  readonly timePartition: TimePartition;
  /**
   * The number that the factors of single ids multiply, where it is not `timePartition.eventBuckets`.
   * It is the same in every slice of a namespace: a slice with another number of event buckets for
   * all ids must not multiply it into ids that have many already (rule C15).
   */
  readonly factorBase?: number | undefined;
  /**
   * OPEN can be read and written. CLOSED can be neither, but can be opened again. DROPPING is closed and past its
   * retention; until its grace ends it can be taken back (rule C26). DROPPED is final:
   * its name is never used again. (UPCOMING, ACTIVE and SEALED in the API follow from the time.)
   */
  readonly state: "OPEN" | "CLOSED" | "DROPPING" | "DROPPED";
}

/** The slice that holds `time`, of slices sorted by start. */
export function sliceAt(slices: readonly TimeSlice[], time: number): TimeSlice | undefined {
  let low = 0;
  let high = slices.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const slice = slices[middle] as TimeSlice;
    if (time < slice.start) high = middle - 1;
    else if (time >= slice.end) low = middle + 1;
    else return slice;
  }
  return undefined;
}
