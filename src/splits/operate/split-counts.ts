/**
 * Counts all splits by state, and the space of their copies, for metrics.
 *
 * It reads every record, so only one process counts, under a lease, and not often. The metrics are
 * as old as its last round. No other process reports them, so nothing is counted twice. The totals
 * are stored for every process to read.
 */
import type { Clock } from "../../lib/clock.ts";
import { Leases } from "../../records/lease.ts";
import type { Lease } from "../../records/lease.ts";
import { eachNamespace } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { writeCountedSplits } from "../../records/split-count-records.ts";
import { listSplits, slicesWithSplits } from "../../records/split-records.ts";
import { SPLIT_STATES, splitTableOf } from "../../model/split.ts";
import type { SplitState } from "../../model/split.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { EventStore } from "../../ports/event-store.ts";

export interface SplitCountsOptions {
  readonly catalog: Catalog;
  readonly store: EventStore;
  readonly clock: Clock;
  readonly everyMs?: number;
  /** Called when a round fails; the next round follows as usual. */
  readonly onFailed?: (error: unknown) => void;
}

const LEASE = "split-counts";

interface Count {
  readonly states: Map<SplitState, number>;
  storageBytes: number;
}

export class SplitCounts {
  readonly #options: SplitCountsOptions;
  #counts = new Map<string, Count>();

  constructor(options: SplitCountsOptions) {
    this.#options = options;
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, everyMs = 60_000 } = this.#options;
    const leases = new Leases(this.#options);
    let lease: Lease | undefined;
    while (!signal.aborted) {
      try {
        if (lease === undefined || lease.lost) lease = await leases.tryTake(LEASE);
        if (lease?.held === true) await this.runOnce(signal);
        else this.#counts.clear();
      } catch (error) {
        // Old counts would be mistaken for current ones.
        this.#counts.clear();
        this.#options.onFailed?.(error);
      }
      await clock.sleep(everyMs, signal);
    }
    await lease?.release();
  }

  async runOnce(signal: AbortSignal): Promise<void> {
    const counts = new Map<string, Count>();
    for await (const { name, record } of eachNamespace(this.#options.catalog, signal)) {
      if (record instanceof Error || record.phase !== "READY") continue;
      counts.set(name, await this.#count(record, signal));
    }
    if (signal.aborted) return;
    this.#counts = counts;
    const { catalog, clock } = this.#options;
    await writeCountedSplits(catalog, { countedAt: clock.nowMicros(), states: sumsOf(counts) });
  }

  /** Labels: namespace, state. */
  *states(): Generator<{ value: number; labels: [string, SplitState] }, void, undefined> {
    for (const [namespace, { states }] of this.#counts) {
      for (const [state, value] of states) yield { value, labels: [namespace, state] };
    }
  }

  /** Labels: namespace. */
  *storage(): Generator<{ value: number; labels: [string] }, void, undefined> {
    for (const [namespace, { storageBytes }] of this.#counts) {
      yield { value: storageBytes, labels: [namespace] };
    }
  }

  async #count({ id }: NamespaceRecord, signal: AbortSignal): Promise<Count> {
    const { catalog, store, onFailed } = this.#options;
    const count: Count = {
      states: new Map(SPLIT_STATES.map((state) => [state, 0])),
      storageBytes: 0,
    };
    for (const name of await slicesWithSplits(catalog, id)) {
      if (signal.aborted) break;
      const slice = { namespaceId: id, slice: name };
      try {
        for await (const { state } of listSplits(catalog, slice, ({ error }) =>
          onFailed?.(error),
        )) {
          count.states.set(state, (count.states.get(state) ?? 0) + 1);
        }
        count.storageBytes += (await store.sliceStats(splitTableOf(slice))).bytes;
      } catch (error) {
        // One damaged slice must not hide the others.
        this.#options.onFailed?.(error);
      }
    }
    return count;
  }
}

function sumsOf(counts: ReadonlyMap<string, Count>): ReadonlyMap<SplitState, number> {
  const sums = new Map<SplitState, number>(SPLIT_STATES.map((state) => [state, 0]));
  for (const { states } of counts.values()) {
    for (const [state, count] of states) sums.set(state, (sums.get(state) ?? 0) + count);
  }
  return sums;
}
