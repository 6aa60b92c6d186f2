/** How large the pages of reads are, and how much a page may read. */

export interface ReadLimits {
  readonly pageSizeDefault: number;
  readonly pageEventsMax: number;
  readonly pageBytesMax: number;
  /** Pages of a stream: large enough to be cheap, small enough to hold two for each reader. */
  readonly streamPageBytes: number;
  readonly filtersMax: number;
  /** Partitions that one page asks before it answers with what it has. */
  readonly pagePartitionsMax: number;
  /**
   * A page that has asked `pagePartitionsMin` partitions answers after this time with what it has.
   * The next page waits for its turn again, so that a long read leaves room for others.
   */
  readonly pageTurnMs: number;
  readonly pagePartitionsMin: number;
  /** Time buckets read at once while they turn out to be empty. */
  readonly aheadMax: number;
  /** The most time buckets with events that one read may read at once; it learns how many. */
  readonly fanOutMax: number;
  /** The most memory that one read may borrow for time buckets ahead. */
  readonly aheadBytesMax: number;
}

export const DEFAULT_READ_LIMITS: ReadLimits = {
  pageSizeDefault: 100,
  pageEventsMax: 10_000,
  pageBytesMax: 3 * 1024 * 1024,
  streamPageBytes: 512 * 1024,
  filtersMax: 32,
  pagePartitionsMax: 1_000,
  pageTurnMs: 250,
  pagePartitionsMin: 64,
  aheadMax: 8,
  fanOutMax: 16,
  aheadBytesMax: 16 * 1024 * 1024,
};
