/**
 * Opens either side of a range that a split covers, for comparisons, separately from the reads of
 * callers.
 */
import type { Clock } from "../../lib/clock.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { PartRecord, RouteSegment } from "../../model/split.ts";
import { PartitionReader } from "../../partition/partition-reader.ts";
import { SegmentReader } from "../../parts/segment-reader.ts";
import type { EventStore, ScanRange, ServiceLevel } from "../../ports/event-store.ts";
import type { Run } from "../../wire/frames.ts";
import { partReadRange } from "../../parts/part-read-range.ts";

export interface Side {
  next(): Promise<Run | undefined>;
  close(): Promise<void>;
}

/** A comparison holds at most a few runs of each side. */
const RUN_BYTES = 256 * 1024;
const RUN_EVENTS = 4_096;

export class ComparisonReaders {
  readonly #store: EventStore;
  readonly #clock: Clock;
  readonly #parts: (
    partition: PartitionKey,
    segment: RouteSegment,
  ) => Promise<readonly PartRecord[]>;

  constructor(
    store: EventStore,
    clock: Clock,
    parts: (partition: PartitionKey, segment: RouteSegment) => Promise<readonly PartRecord[]>,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#parts = parts;
  }

  original(
    partition: PartitionKey,
    range: ScanRange,
    level: ServiceLevel | undefined,
    signal: AbortSignal,
  ): Side {
    return new PartitionReader(this.#store, this.#clock, partition, sized(range, level), signal);
  }

  async split(
    partition: PartitionKey,
    segment: RouteSegment,
    range: ScanRange,
    level: ServiceLevel | undefined,
    signal: AbortSignal,
  ): Promise<Side> {
    const parts = await this.#parts(partition, segment);
    const wanted = partReadRange(sized(range, level), segment);
    return new SegmentReader(this.#store, partition, segment, parts, wanted, signal);
  }
}

function sized(range: ScanRange, level: ServiceLevel | undefined): ScanRange {
  const own = { ...range, runBytesMax: RUN_BYTES, runEventsMax: RUN_EVENTS };
  return level === undefined ? own : { ...own, level };
}
