/**
 * Collects from the pages of a read how it is served: which partitions it reads, by which route,
 * and how much of each. Bounded: beyond a number of partitions it only counts.
 */
import type { PageOutcome } from "./page-reader.ts";
import type { ExplainedPartition, ReadExplanation } from "./read-page.ts";

/** An explanation is for people. */
export const EXPLAINED_PARTITIONS_MAX = 1_000;

export class ExplainedRead {
  /** In the order of the read. */
  readonly #rows: ExplainedPartition[] = [];
  /**
   * The bucket read last, which the next page may continue: the location of its rows, and their
   * events.
   */
  #lastBucket = "";
  readonly #last = new Map<
    number,
    { readonly row: number; readonly events: number; readonly bytes: number }
  >();
  #partitionsRead = 0;
  #bytes = 0;
  #events = 0;
  #eventsReturned = 0;
  #millis = 0;

  get rows(): readonly ExplainedPartition[] {
    return this.#rows;
  }

  get totals(): Omit<ReadExplanation["totals"], "partitions"> {
    return {
      partitionsRead: this.#partitionsRead,
      bytes: this.#bytes,
      events: this.#events,
      eventsReturned: this.#eventsReturned,
      millis: this.#millis,
    };
  }

  /**
   * The next page of the same reader: a partition that it continues counts once, with all of its
   * events.
   */
  add({ page, partitions }: PageOutcome): void {
    this.#eventsReturned += page.count;
    this.#millis += page.context.timeTakenMs;
    for (const partition of partitions) this.#addPartition(partition);
  }

  #addPartition(partition: ExplainedPartition): void {
    const bucket = bucketText(partition);
    if (bucket !== this.#lastBucket) this.#last.clear();
    this.#lastBucket = bucket;
    const before = this.#last.get(partition.eventBucket);
    const row = before?.row ?? this.#partitionsRead;
    if (before === undefined) this.#partitionsRead++;
    // Both are what was fetched, so that the totals are the sums of the rows.
    this.#events += partition.events - (before?.events ?? 0);
    this.#bytes += partition.bytes - (before?.bytes ?? 0);
    const { events, bytes } = partition;
    this.#last.set(partition.eventBucket, { row, events, bytes });
    if (row < EXPLAINED_PARTITIONS_MAX) this.#rows[row] = partition;
  }
}

/** For sets and maps. */
export function bucketText(row: Pick<ExplainedPartition, "timeSlice" | "timeBucket">): string {
  return `${row.timeSlice}/${row.timeBucket}`;
}
