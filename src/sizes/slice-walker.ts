/**
 * Keeps the histograms and the largest partitions of every slice up to date: walks each slice when
 * it is settled, and those that take events now and then. One process does it for all, under a
 * lease, one slice at a time.
 *
 * What the storage itself says about a settled slice is stored before its walk.
 *
 * A walk saves how far it has come, and a process that takes over continues there.
 *
 * A result is stored only if the slice is still there and no re-opening of its time came in between.
 * A process that lost the lease stores nothing; a newer walk is never replaced by an older one.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../lib/clock.ts";
import { isUnreadable } from "../lib/stored-format.ts";
import { isSealed } from "../model/epochs.ts";
import type { SliceRef } from "../model/partition.ts";
import type { SliceHistogram } from "../model/slice-histogram.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { EventStore } from "../ports/event-store.ts";
import type { HistogramTable } from "../ports/histogram-table.ts";
import type { PartitionSizes } from "../ports/partition-sizes.ts";
import {
  HISTOGRAMS_MAX,
  readHistogram,
  trimHistograms,
  writeHistogram,
} from "../records/histogram-records.ts";
import { Leases } from "../records/lease.ts";
import type { Lease } from "../records/lease.ts";
import { eachNamespace, readNamespace, settledFloorOf } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { readSlice, readSlices } from "../records/slice-records.ts";
import type { SliceRecord } from "../records/slice-records.ts";
import { listSplits, slicesWithSplits } from "../records/split-records.ts";
import { writeSizeReports } from "../records/size-report-records.ts";
import { removeTopPartitions, writeTopPartitions } from "../records/top-partition-records.ts";
import { removeWidthMap, writeWidthMap } from "../records/width-map-records.ts";
import { dueWalks } from "./due-walks.ts";
import type { DueWalk, LastWalk } from "./due-walks.ts";
import { IdSample } from "./id-sample.ts";
import { SavedWalk } from "./saved-walk.ts";
import { bestFirst, isKnown } from "./rank-reports.ts";
import { walkSlice } from "./walk-slice.ts";
import type { SliceWalk, WalkRate } from "./walk-slice.ts";

export interface SliceWalkerOptions {
  readonly catalog: Catalog;
  readonly store: EventStore;
  readonly clock: Clock;
  /** Where engines that have one show histograms to people. */
  readonly table: HistogramTable | undefined;
  /** What the storage itself knows about partitions; asked once for each settled slice. */
  readonly sources: readonly PartitionSizes[];
  /** How often it looks for slices that are due. */
  readonly everyMs: number;
  /** How often a slice that takes events is walked; 0: never. */
  readonly currentEveryMs: number;
  readonly rate: WalkRate;
  /** Bytes counted in one walk; a larger slice is counted for a sample of its ids. */
  readonly bytesMax: number;
  /** A walk ends after this, wherever it is. */
  readonly walkMsMax: number;
  /** The newest slices have histograms; default: as many as are stored. */
  readonly keptMax?: number;
  readonly observe: (event: WalkEvent) => void;
}

export type WalkEvent =
  | { readonly kind: "paged"; readonly namespace: string; readonly partitions: number }
  | { readonly kind: "walked"; readonly namespace: string; readonly histogram: SliceHistogram }
  | {
      readonly kind: "failed";
      readonly namespace: string;
      readonly slice: string;
      readonly error: unknown;
    };

const LEASE = "slice-walks";
/** Opening a damaged slice checks all of it: not in every round. */
const FAILED_RETRY_MS = 600_000;
/** A slice that is too large for one walk would otherwise be walked all the time. */
const RETRY_MICROS = 86_400_000_000;
/** A slice that takes events is walked at this share of the rate: writers come first. */
const CURRENT_RATE = 0.25;
/** Below this, a sample says too little. */
const SHARE_MIN = 0.001;
const KNOWN_IDS_MAX = 1_000;
const REMEMBERED_MAX = 100_000;

export class SliceWalker {
  readonly #options: SliceWalkerOptions;
  /** By namespace id and slice. */
  readonly #last = new LRUCache<string, LastWalk>({ max: REMEMBERED_MAX });
  /** Events of a slice when it was last walked: a slice without new ones is not walked again. */
  readonly #events = new LRUCache<string, number>({ max: REMEMBERED_MAX });
  /** Slices whose walk failed: when it may be tried again, on the monotonic clock. */
  readonly #failed = new LRUCache<string, number>({ max: REMEMBERED_MAX });
  /** By namespace: since when its oldest settled slice waits for a walk; Infinity if none does. */
  #waiting = new Map<string, number>();

  constructor(options: SliceWalkerOptions) {
    this.#options = options;
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, everyMs, observe } = this.#options;
    const leases = new Leases(this.#options);
    let lease: Lease | undefined;
    while (!signal.aborted) {
      // First: a process that starts has better things to do.
      await clock.sleep(everyMs, signal);
      if (signal.aborted) break;
      try {
        if (lease === undefined || lease.lost) lease = await leases.tryTake(LEASE);
        const held = lease;
        if (held?.held === true) await this.runOnce(signal, () => held.held);
        else this.#forget();
      } catch (error) {
        if (!signal.aborted) observe({ kind: "failed", namespace: "", slice: "", error });
      }
    }
    await lease?.release();
  }

  /** Walks every slice that is due, as long as `isOwner` says so. */
  async runOnce(signal: AbortSignal, isOwner: () => boolean = () => true): Promise<void> {
    const seen = new Set<string>();
    for await (const { name, record } of eachNamespace(this.#options.catalog, signal)) {
      if (signal.aborted || !isOwner()) return;
      if (record instanceof Error || record.phase !== "READY") continue;
      seen.add(name);
      try {
        await this.#walkDue(record, signal, isOwner);
      } catch (error) {
        if (signal.aborted) return;
        // One namespace must not stop the others.
        this.#options.observe({ kind: "failed", namespace: name, slice: "", error });
      }
    }
    for (const name of this.#waiting.keys()) if (!seen.has(name)) this.#waiting.delete(name);
  }

  /** For each namespace, how long its oldest settled slice has waited for a walk, in seconds. */
  *lagSeconds(): Generator<{ value: number; labels: [string] }, void, undefined> {
    const now = this.#options.clock.nowMicros();
    for (const [namespace, since] of this.#waiting) {
      yield { value: Math.max(0, (now - since) / 1_000_000), labels: [namespace] };
    }
  }

  async #walkDue(
    record: NamespaceRecord,
    signal: AbortSignal,
    isOwner: () => boolean,
  ): Promise<void> {
    const { clock, observe } = this.#options;
    const due = await this.#due(record);
    const waiting = new Set(due);
    this.#noteWaiting(record, waiting);
    for (const each of due) {
      if (signal.aborted || !isOwner()) return;
      const slice = each.slice.name;
      const name = nameOf({ namespaceId: record.id, slice });
      if (clock.monotonicMs() < (this.#failed.get(name) ?? 0)) continue;
      try {
        await this.#walk(record, each, signal, isOwner);
        this.#failed.delete(name);
        waiting.delete(each);
        this.#noteWaiting(record, waiting);
      } catch (error) {
        if (signal.aborted) return;
        // A later round finds it due again; the others must not wait for it.
        this.#failed.set(name, clock.monotonicMs() + FAILED_RETRY_MS);
        observe({ kind: "failed", namespace: record.name, slice, error });
      }
    }
  }

  async #due(record: NamespaceRecord): Promise<DueWalk<SliceRecord>[]> {
    const { catalog, clock, currentEveryMs } = this.#options;
    const slices = await readSlices(catalog, record.id);
    const last = new Map<string, LastWalk>();
    for (const { name, state } of slices) {
      if (state === "DROPPED" || state === "DROPPING") continue;
      const walked = await this.#lastWalk({ namespaceId: record.id, slice: name });
      if (walked !== undefined) last.set(name, walked);
    }
    return dueWalks(record, slices, ({ name }) => last.get(name), {
      now: clock.nowMicros(),
      settledFloor: settledFloorOf(record),
      currentEvery: currentEveryMs === 0 ? Infinity : currentEveryMs * 1_000,
      retryAfter: RETRY_MICROS,
      keptMax: this.#options.keptMax ?? HISTOGRAMS_MAX,
    }).filter(({ sealed }) => sealed || currentEveryMs > 0);
  }

  async #lastWalk(ref: SliceRef): Promise<LastWalk | undefined> {
    const name = nameOf(ref);
    const known = this.#last.get(name);
    if (known !== undefined) return known;
    const { catalog, clock } = this.#options;
    try {
      const stored = await readHistogram(catalog, ref.namespaceId, ref.slice);
      if (stored !== undefined) this.#remember(ref, stored);
      return stored;
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      // Of a newer version, which walks by itself: this one must not overwrite it (rule C28).
      const asOf = clock.nowMicros();
      return { asOf, endedAt: asOf, sealed: true, epoch: Infinity, complete: true };
    }
  }

  async #walk(
    record: NamespaceRecord,
    { slice, sealed }: DueWalk<SliceRecord>,
    signal: AbortSignal,
    isOwner: () => boolean,
  ): Promise<void> {
    const { store, rate, bytesMax, walkMsMax, observe } = this.#options;
    const ref = { namespaceId: record.id, slice: slice.name };
    const stats = await store.sliceStats(ref);
    if (!sealed && this.#events.get(nameOf(ref)) === stats.events) return;
    const share = Math.max(SHARE_MIN, bytesMax / Math.max(1, stats.bytes));
    const saved = await SavedWalk.open(this.#options, record, { slice, sealed });
    // First: the walk may take hours, and storage that has dropped the slice knows nothing of it.
    if (sealed && saved.resumed === undefined) await this.#storeReports(record, slice, signal);
    const slow = sealed ? 1 : CURRENT_RATE;
    const walking = walkSlice(
      {
        ...this.#options,
        rate: {
          bytesPerSecond: rate.bytesPerSecond * slow,
          partitionsPerSecond: rate.partitionsPerSecond * slow,
        },
        msMax: walkMsMax,
        sample: new IdSample(share, share < 1 ? await this.#knownIds(ref) : undefined),
        resumed: saved.resumed,
        save: (position) => saved.save(position),
        paged: ({ partitions }) => {
          observe({ kind: "paged", namespace: record.name, partitions: partitions.length });
          return isOwner();
        },
      },
      ref,
      slice,
      signal,
    );
    const walk = await walking.catch(async (error: unknown) => {
      // Perhaps the slice was dropped: nothing of it may stay.
      if (!signal.aborted && !(await this.#isStillTrue(record, { slice, sealed }))) {
        await saved.discard();
      }
      throw error;
    });
    if (walk === undefined) return;
    if (!(await this.#isStillTrue(record, { slice, sealed }))) return saved.discard();
    await this.#store({ ...record, epoch: saved.epoch }, { slice, sealed }, walk);
    await saved.end(walk);
    this.#events.set(nameOf(ref), stats.events);
  }

  /** What other sources say about a slice whose events can no longer change. */
  async #storeReports(
    record: NamespaceRecord,
    { name: timeSlice, start, end, timePartition }: SliceRecord,
    signal: AbortSignal,
  ): Promise<void> {
    const { catalog, sources, table } = this.#options;
    const ref = { namespaceId: record.id, slice: timeSlice };
    const answers = await Promise.all(sources.map((source) => source.sizesOf(ref, signal)));
    const reports = bestFirst(answers.filter(isKnown));
    const [best] = reports;
    if (best === undefined) return;
    const slice = { timeSlice, start, end, timePartition };
    try {
      await writeSizeReports(catalog, record.id, { ...slice, reports });
    } catch (error) {
      // Of a newer version, which must stay (rule C28).
      if (!isUnreadable(error)) throw error;
    }
    const isWalked = (await readHistogram(catalog, record.id, timeSlice)) !== undefined;
    if (!isWalked) await table?.publishReport(record, slice, best);
  }

  async #store(
    record: NamespaceRecord,
    { slice, sealed }: DueWalk<SliceRecord>,
    { asOf, endedAt, complete, tally }: SliceWalk,
  ): Promise<void> {
    const { catalog, table, keptMax = HISTOGRAMS_MAX, observe } = this.#options;
    const { name: timeSlice, start, end, timePartition } = slice;
    const histogram: SliceHistogram = {
      timeSlice,
      start,
      end,
      timePartition,
      source: "WALK",
      asOf,
      endedAt,
      sealed,
      epoch: record.epoch,
      complete,
      ...tally.sizes(),
    };
    const ref = { namespaceId: record.id, slice: timeSlice };
    const { bytes, events } = histogram.partitions;
    const totals = { totalBytes: bytes.total, totalEvents: events.total };
    const partitions = tally.top();
    await writeTopPartitions(catalog, ref, { asOf, endedAt, complete, ...totals, partitions });
    const map = tally.map();
    const { sampleShare, omissions } = histogram;
    const walk = { asOf, endedAt, sealed, complete, sampleShare, omissions };
    if (map !== undefined) await writeWidthMap(catalog, ref, { ...walk, ...map });
    await writeHistogram(catalog, record.id, histogram);
    this.#remember(ref, histogram);
    const trimmed = await trimHistograms(catalog, record.id, keptMax);
    await table?.publish(record, histogram);
    for (const old of trimmed) await table?.remove(record, old);
    // It may have been dropped, with its records, since it was last checked.
    if (!(await this.#isStillTrue(record, { slice, sealed }))) {
      await removeTopPartitions(catalog, ref);
      await removeWidthMap(catalog, ref);
    }
    observe({ kind: "walked", namespace: record.name, histogram });
  }

  /** Ids that have splits: a detection, or an operator, says that they are large. */
  async #knownIds(ref: SliceRef): Promise<ReadonlySet<string>> {
    const { catalog } = this.#options;
    const ids = new Set<string>();
    if (!(await slicesWithSplits(catalog, ref.namespaceId)).has(ref.slice)) return ids;
    for await (const { partition } of listSplits(catalog, ref, () => undefined)) {
      ids.add(partition.seriesId);
      if (ids.size === KNOWN_IDS_MAX) break;
    }
    return ids;
  }

  /** Not if the slice was dropped, or if time that seemed sealed was re-opened. */
  async #isStillTrue(
    record: NamespaceRecord,
    { slice, sealed }: DueWalk<SliceRecord>,
  ): Promise<boolean> {
    const { catalog } = this.#options;
    const current = await readNamespace(catalog, record.name);
    if (current?.id !== record.id || current.phase !== "READY") return false;
    const walked = { epoch: record.epoch, to: slice.end };
    if (sealed && !isSealed(current.epochStarts, walked)) return false;
    const stored = await readSlice(catalog, record.id, slice.name);
    return stored !== undefined && stored.state !== "DROPPED";
  }

  #remember(ref: SliceRef, { asOf, endedAt, sealed, epoch, complete }: LastWalk): void {
    this.#last.set(nameOf(ref), { asOf, endedAt, sealed, epoch, complete });
  }

  #noteWaiting(record: NamespaceRecord, waiting: ReadonlySet<DueWalk>): void {
    const ends = [...waiting].filter(({ sealed }) => sealed).map(({ slice }) => slice.end);
    const oldestFor = settledFloorOf(record) - Math.min(...ends);
    this.#waiting.set(record.name, this.#options.clock.nowMicros() - oldestFor);
  }

  /** Another process walks, and what this one remembers grows old. */
  #forget(): void {
    this.#last.clear();
    this.#events.clear();
    this.#failed.clear();
    this.#waiting.clear();
  }
}

function nameOf({ namespaceId, slice }: SliceRef): string {
  return `${namespaceId}/${slice}`;
}
