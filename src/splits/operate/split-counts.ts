/**
 * Counts all splits by state, their sizes before and after, and the space of their copies: for
 * metrics, and for summaries that every process can read.
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
import { writeSummaries } from "../../records/split-summary-records.ts";
import { splitTableOf } from "../../model/split.ts";
import type { SplitState } from "../../model/split.ts";
import { SplitSum } from "../../model/split-summary.ts";
import type { UnreadableEntry } from "../../records/stored-json.ts";
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

export class SplitCounts {
  readonly #options: SplitCountsOptions;
  #counts = new Map<string, SplitSum>();

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
    const counts = new Map<string, SplitSum>();
    const total = new SplitSum();
    for await (const { name, record } of eachNamespace(this.#options.catalog, signal)) {
      if (record instanceof Error || record.phase !== "READY") continue;
      const count = await this.#count(record, signal);
      counts.set(name, count);
      total.add(count);
    }
    if (signal.aborted) return;
    const { catalog, clock } = this.#options;
    const countedAt = clock.nowMicros();
    await writeCountedSplits(catalog, { countedAt, states: total.states });
    const there = [...counts].filter(([, count]) => !count.isEmpty);
    const summaries = new Map(there.map(([name, count]) => [name, count.summary()]));
    await writeSummaries(catalog, summaries, { ...total.summary(), countedAt });
    this.#counts = counts;
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

  async #count({ id }: NamespaceRecord, signal: AbortSignal): Promise<SplitSum> {
    const { catalog, store, onFailed } = this.#options;
    const count = new SplitSum();
    const skip = ({ error }: UnreadableEntry): void => {
      count.addUnreadable();
      onFailed?.(error);
    };
    for (const name of await slicesWithSplits(catalog, id)) {
      if (signal.aborted) break;
      const slice = { namespaceId: id, slice: name };
      try {
        for await (const record of listSplits(catalog, slice, skip)) count.addRecord(record);
        count.addStorage((await store.sliceStats(splitTableOf(slice))).bytes);
      } catch (error) {
        // One damaged slice must not hide the others.
        count.addUnreadable();
        onFailed?.(error);
      }
    }
    return count;
  }
}
