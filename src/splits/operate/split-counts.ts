/**
 * Counts all splits by state, their sizes before and after, and the space of their copies: for
 * metrics, and for summaries that every process can read.
 *
 * Only one process counts, under a lease. It reads all records of a namespace, so it counts a
 * namespace again only when one of its splits has changed, and one with many splits less often: the
 * counting takes at most a twentieth of the time. Everything is counted again once in an hour,
 * because a mark of a change can be missing. No other process reports the metrics, so nothing is
 * counted twice. The totals are stored for every process to read.
 */
import type { Clock } from "../../lib/clock.ts";
import { readSplitMarks } from "../../records/changed-splits.ts";
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
const ALL_AGAIN_MS = 3_600_000;
/** After a count that took so long, the next one waits for this many times as long. */
const PATIENCE = 20;

/** What is known of a namespace. */
interface Counted {
  readonly count: SplitSum;
  /** The mark of its last change, as it was before the count. */
  readonly mark: number | undefined;
  readonly countedAtMs: number;
  readonly tookMs: number;
}

export class SplitCounts {
  readonly #options: SplitCountsOptions;
  #counts = new Map<string, SplitSum>();
  /** By namespace id. */
  #counted = new Map<string, Counted>();

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
        else this.#forget();
      } catch (error) {
        // Old counts would be mistaken for current ones.
        this.#forget();
        this.#options.onFailed?.(error);
      }
      await clock.sleep(everyMs, signal);
    }
    await lease?.release();
  }

  async runOnce(signal: AbortSignal): Promise<void> {
    const { catalog, clock } = this.#options;
    const counts = new Map<string, SplitSum>();
    const counted = new Map<string, Counted>();
    const total = new SplitSum();
    // Before the records: what changes while they are read is counted in the next round.
    const marks = await readSplitMarks(catalog);
    for await (const { name, record } of eachNamespace(catalog, signal)) {
      if (record instanceof Error || record.phase !== "READY") continue;
      const known = await this.#countIfDue(record, marks.get(record.id), signal);
      counted.set(record.id, known);
      counts.set(name, known.count);
      total.add(known.count);
    }
    if (signal.aborted) return;
    this.#counted = counted;
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

  async #countIfDue(
    record: NamespaceRecord,
    mark: number | undefined,
    signal: AbortSignal,
  ): Promise<Counted> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const known = this.#counted.get(record.id);
    if (known !== undefined) {
      const ageMs = startedMs - known.countedAtMs;
      const isSame = known.mark === mark && ageMs < ALL_AGAIN_MS;
      if (isSame || ageMs < PATIENCE * known.tookMs) return known;
    }
    const count = await this.#count(record, signal);
    const countedAtMs = clock.monotonicMs();
    return { count, mark, countedAtMs, tookMs: countedAtMs - startedMs };
  }

  #forget(): void {
    this.#counts.clear();
    this.#counted.clear();
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
