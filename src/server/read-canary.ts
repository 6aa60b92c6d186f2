/**
 * Measures how long reads take, for a process that serves none: while it splits partitions, it
 * reads a page of one of them every second, as a caller would, and reports the time.
 */
import type { Clock } from "../lib/clock.ts";
import type { ViewSource } from "../model/namespace.ts";
import type { PartitionKey } from "../model/partition.ts";
import { PartitionReader } from "../partition/partition-reader.ts";
import type { EventStore } from "../ports/event-store.ts";
import { LiveLatency } from "./live-latency.ts";

const EVERY_MS = 1_000;
/** A failed read counts as at least this long. */
const FAILED_MS = 5_000;
const PAGE_EVENTS = 100;
const PAGE_BYTES = 64 * 1024;
/** A partition without news for this long is no longer read. */
const FOLLOWED_MS = 600_000;

export interface ReadCanaryOptions {
  readonly store: EventStore;
  readonly views: ViewSource;
  readonly clock: Clock;
}

export class ReadCanary {
  readonly #options: ReadCanaryOptions;
  readonly #latency: LiveLatency;
  #followed: { readonly namespace: string; readonly partition: PartitionKey } | undefined;
  #heardAtMs = 0;

  constructor(options: ReadCanaryOptions) {
    this.#options = options;
    this.#latency = new LiveLatency(options.clock);
  }

  /** The partition in work; the last one reported stands for all. */
  follow(namespace: string, partition: PartitionKey): void {
    this.#followed = { namespace, partition };
    this.#heardAtMs = this.#options.clock.monotonicMs();
  }

  recentMs(): number | undefined {
    return this.#latency.recentMs();
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(EVERY_MS, signal);
      if (clock.monotonicMs() - this.#heardAtMs > FOLLOWED_MS) this.#followed = undefined;
      if (this.#followed === undefined || signal.aborted) continue;
      const followed = this.#followed;
      try {
        await this.#latency.measure(FAILED_MS, () => this.#readPage(followed, signal));
      } catch {
        // It counts as slow. The worker that splits meets the failure itself.
      }
    }
  }

  async #readPage(
    { namespace, partition }: { readonly namespace: string; readonly partition: PartitionKey },
    signal: AbortSignal,
  ): Promise<void> {
    const { store, views, clock } = this.#options;
    const { config } = (await views.get(namespace)).namespace;
    const range = {
      from: 0,
      to: Number.MAX_SAFE_INTEGER,
      order: "NEWEST_FIRST" as const,
      after: undefined,
      runEventsMax: PAGE_EVENTS,
      runBytesMax: PAGE_BYTES,
      level: { ...config.slos.read, consistency: config.consistency },
    };
    const reader = new PartitionReader(store, clock, partition, range, signal);
    try {
      await reader.next();
    } finally {
      await reader.close();
    }
  }
}
