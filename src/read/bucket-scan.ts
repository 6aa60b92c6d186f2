/**
 * One time bucket of a time series, opened for reading behind a position: its partitions, one or
 * several, as one.
 */
import type { NamespaceView } from "../model/namespace.ts";
import type { PartitionKey } from "../model/partition.ts";
import { MergedRuns } from "../partition/merge-runs.ts";
import type { RunSource, Taken } from "../partition/merge-runs.ts";
import type { PartitionOpener, PartitionSource } from "../partition/partition-source.ts";
import type { ScanRange } from "../ports/event-store.ts";
import type { Run } from "../wire/frames.ts";
import { readsSplit } from "./width-shares.ts";

/** A run smaller than this costs more in round trips than it saves in memory. */
const RUN_BYTES_MIN = 16 * 1024;
/** Where partitions are very many, their first runs together must still fit into memory. */
const FANOUT_BYTES_MAX = 4 * 1024 * 1024;
const FANOUT_RUN_BYTES_MIN = 4 * 1024;

/** The least that is fetched of each of so many partitions. */
export function runBytesMin(partitions: number): number {
  const share = Math.floor(FANOUT_BYTES_MAX / partitions);
  return Math.min(RUN_BYTES_MIN, Math.max(FANOUT_RUN_BYTES_MIN, share));
}

/**
 * How many events of each partition make up so many of all: events are spread by hash, so a share
 * deviates by about its square root. A merge needs one more, to know that it may go past the last.
 */
function shareOf(events: number, partitions: number): number {
  if (partitions === 1) return events;
  const mean = events / partitions;
  return Math.min(events, Math.ceil(mean + 3 * Math.sqrt(mean)) + 1);
}

export class BucketScan {
  readonly sources: readonly PartitionSource[];
  readonly #runs: RunSource;
  readonly #merged: MergedRuns | undefined;

  constructor(
    opener: PartitionOpener,
    view: NamespaceView,
    partitions: readonly PartitionKey[],
    range: ScanRange,
    signal: AbortSignal,
  ) {
    const count = partitions.length;
    // The more partitions, the less each may fetch: together they stay within the request's share.
    const runBytesMax = Math.max(runBytesMin(count), Math.floor(range.runBytesMax / count));
    const eventsWanted = range.eventsWanted && shareOf(range.eventsWanted, count);
    this.sources = partitions.map((partition) =>
      opener.open(view, partition, { ...range, runBytesMax, eventsWanted }, signal),
    );
    this.#merged =
      count === 1 ? undefined : new MergedRuns(this.sources, range.order, range.runEventsMax);
    this.#runs = this.#merged ?? (this.sources[0] as PartitionSource);
  }

  /** Whether a split has returned something, or was chosen to. */
  get readsSplit(): boolean {
    return this.sources.some(({ route }) => readsSplit(route.route));
  }

  /** What of each partition it has returned. */
  get taken(): readonly Taken[] {
    return this.#merged?.taken ?? this.sources;
  }

  /** Whether it returns what it fetched with an earlier run, because it waited for others. */
  get holdsMore(): boolean {
    return this.#merged !== undefined;
  }

  /**
   * Whether something that it returned last, or has fetched and not returned, must not be passed on
   * any more.
   */
  async isWithdrawn(): Promise<boolean> {
    const withdrawn = await Promise.all(this.sources.map((source) => source.isWithdrawn()));
    return withdrawn.includes(true);
  }

  next(): Promise<Run | undefined> {
    return this.#runs.next();
  }

  async close(): Promise<void> {
    await Promise.all(this.sources.map((source) => source.close()));
  }
}
