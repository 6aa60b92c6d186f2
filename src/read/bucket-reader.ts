/** One time bucket of a time series: its partitions, one or several, read as one. */
import type { Clock } from "../lib/clock.ts";
import type { PartitionKey } from "../model/partition.ts";
import { PartitionReader } from "../partition/partition-reader.ts";
import type { EventStore, ScanRange } from "../ports/event-store.ts";
import type { Run } from "../wire/frames.ts";
import type { BucketRange } from "./buckets-of.ts";
import { MergedRuns } from "./merge-runs.ts";
import type { RunSource } from "./merge-runs.ts";

/** A run smaller than this costs more in round trips than it saves in memory. */
export const RUN_BYTES_MIN = 16 * 1024;

export class BucketReader {
  readonly bucket: BucketRange;
  readonly readers: readonly PartitionReader[];
  readonly #runs: RunSource;
  #first: Promise<Run | undefined> | undefined;

  constructor(
    store: EventStore,
    clock: Clock,
    bucket: BucketRange,
    partitions: readonly PartitionKey[],
    range: ScanRange,
    signal: AbortSignal,
  ) {
    this.bucket = bucket;
    // What one partition may fetch shrinks with their number: together they stay within the request's share.
    const runBytesMax = Math.max(RUN_BYTES_MIN, Math.floor(range.runBytesMax / partitions.length));
    this.readers = partitions.map(
      (partition) =>
        new PartitionReader(store, clock, partition, { ...range, runBytesMax }, signal),
    );
    this.#runs =
      this.readers.length === 1
        ? (this.readers[0] as PartitionReader)
        : new MergedRuns(this.readers, range.order, range.runEventsMax);
  }

  /** Fetches the first run ahead of its turn. */
  async open(): Promise<this> {
    this.#first = this.#runs.next();
    await this.#first;
    return this;
  }

  async next(): Promise<Run | undefined> {
    const first = this.#first;
    this.#first = undefined;
    return first ?? this.#runs.next();
  }

  async close(): Promise<void> {
    await Promise.all(this.readers.map((reader) => reader.close()));
  }
}
