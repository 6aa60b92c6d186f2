/** Opens every partition as it was written: without splits, or where splits may not be used. */
import type { Clock } from "../../src/lib/clock.ts";
import type { NamespaceView } from "../../src/model/namespace.ts";
import type { PartitionKey } from "../../src/model/partition.ts";
import type { EventStore, ScanRange } from "../../src/ports/event-store.ts";
import { NOT_SPLIT, PartitionReader } from "../../src/partition/partition-reader.ts";
import type {
  PartitionOpener,
  PartitionRoute,
  PartitionSource,
} from "../../src/partition/partition-source.ts";

export class OriginalOpener implements PartitionOpener {
  readonly #store: EventStore;
  readonly #clock: Clock;

  constructor(store: EventStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  open(
    _view: NamespaceView,
    partition: PartitionKey,
    range: ScanRange,
    signal: AbortSignal,
  ): PartitionSource {
    return new PartitionReader(this.#store, this.#clock, partition, range, signal);
  }

  async explain(): Promise<PartitionRoute> {
    return NOT_SPLIT;
  }
}
