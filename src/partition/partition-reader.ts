/**
 * Reads one partition as it was written, in order, as bounded and counted runs, and resumes after a
 * short storage failure.
 */
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { EventStore, ScanRange } from "../ports/event-store.ts";
import type { Run } from "../wire/frames.ts";
import type { PartitionRoute, PartitionSource } from "./partition-source.ts";

/** After this many failures at one position the caller gets the error. */
const ATTEMPTS_MAX = 3;
const RETRY_MS = 20;

export const NOT_SPLIT: PartitionRoute = {
  route: "ORIGINAL_NOT_SPLIT",
  why: "the partition is not split",
  parts: 0,
};

export class PartitionReader implements PartitionSource {
  readonly partition: PartitionKey;
  readonly route: PartitionRoute;
  readonly #store: EventStore;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #range: ScanRange;
  #scan: AsyncIterator<Run> | undefined;
  #done = false;
  /** The bytes that this reader has returned so far. */
  bytes = 0;
  events = 0;
  millis = 0;

  constructor(
    store: EventStore,
    clock: Clock,
    partition: PartitionKey,
    range: ScanRange,
    signal: AbortSignal,
    route: PartitionRoute = NOT_SPLIT,
  ) {
    this.route = route;
    this.#store = store;
    this.#clock = clock;
    this.partition = partition;
    this.#range = range;
    this.#signal = signal;
  }

  get originalBytes(): number {
    return this.bytes;
  }

  get originalEvents(): number {
    return this.events;
  }

  async next(): Promise<Run | undefined> {
    if (this.#done) return undefined;
    const startedMs = this.#clock.monotonicMs();
    try {
      const run = await this.#nextWithRetry();
      if (run === undefined) this.#done = true;
      else {
        this.bytes += run.bytes;
        this.events += run.count;
        this.#range = { ...this.#range, after: run.last };
      }
      return run;
    } finally {
      this.millis += this.#clock.monotonicMs() - startedMs;
    }
  }

  isWithdrawn(): Promise<boolean> {
    return Promise.resolve(false);
  }

  async close(): Promise<void> {
    this.#done = true;
    const scan = this.#scan;
    this.#scan = undefined;
    await scan?.return?.();
  }

  async #nextWithRetry(): Promise<Run | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        this.#scan ??= this.#store
          .scan(this.partition, this.#range, this.#signal)
          [Symbol.asyncIterator]();
        const next = await this.#scan.next();
        return next.done === true ? undefined : next.value;
      } catch (error) {
        this.#scan = undefined;
        const passing = error instanceof ServiceError && error.code === "STORAGE_UNAVAILABLE";
        if (!passing || attempt === ATTEMPTS_MAX) throw error;
        await this.#clock.sleep(RETRY_MS * attempt, this.#signal);
        this.#signal.throwIfAborted();
      }
    }
  }
}
