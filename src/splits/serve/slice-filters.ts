/**
 * Keeps, for each slice, a filter of the partitions that may be split. Every read asks it first.
 *
 * A filter is filled from the slice's routes when the slice is first read. Afterwards it follows
 * the namespace's log of changes, and from time to time it is filled again, which also drops
 * partitions that are no longer split. A late or wrong filter costs speed, never a correct answer:
 * "no" means the original, and "perhaps" leads to a lookup.
 *
 * With thousands of namespaces, it asks once which of them have changes. If reads use more slices
 * than there is room for, it makes room only by forgetting slices that no read has used for a while;
 * until then reads of further slices use the originals. So it never loads in a circle.
 */
import { BloomFilter, FALSE_POSITIVE_RATE_MAX } from "../../lib/bloom-filter.ts";
import type { Clock } from "../../lib/clock.ts";
import { forEachBounded } from "../../lib/for-each-bounded.ts";
import { readSplitMarks } from "../../records/changed-splits.ts";
import { listRoutes } from "../../records/route-records.ts";
import { changesFrom, listChanges } from "../../records/split-changes.ts";
import type { PartitionKey, SliceRef } from "../../model/partition.ts";
import type { TimeMargins } from "../../model/time-margins.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { FilterAnswer } from "./observer.ts";
import { hashPartition, partitionHash } from "./partition-hash.ts";

export interface SliceFiltersOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly margins: Pick<TimeMargins, "viewMaxAge" | "clockSkew">;
  /** Called once for each new change: the cached route of that partition is old. */
  readonly onChange: (partition: PartitionKey) => void;
  readonly trouble: (what: string, error: unknown) => void;
  readonly rebuildMs?: number;
  /** The number of slices with a filter; beyond it, one that is not in use is forgotten. */
  readonly slicesMax?: number;
  /**
   * With more changes than this since the last refresh, filling the filters again costs less than
   * following.
   */
  readonly changesMax?: number;
}

export interface FilterSize {
  readonly slice: SliceRef;
  readonly entries: number;
  readonly bytes: number;
}

/** A loaded filter, and what reads asked it since it was opened. */
export interface FilterFigures extends FilterSize {
  /** The number of entries it has room for. */
  readonly capacity: number;
  readonly checks: number;
  /** Answers "perhaps". */
  readonly hits: number;
  /** Those of them that were wrong: the partition has no route. */
  readonly falsePositives: number;
  /** False positives among other partitions: of a full filter, of this one, and observed. */
  readonly configuredRate: number;
  readonly expectedRate: number;
  /** Undefined before the first check of a partition without a split. */
  readonly observedRate: number | undefined;
  /** How long ago it was brought up to date. */
  readonly ageMs: number;
  /** Microseconds: when it was filled last, and when it was opened. */
  readonly loadedAt: number;
  readonly openedAt: number;
}

const REBUILD_MS = 600_000;
/** A slice without splits has nothing to drop: its filter is filled again less often. */
const EMPTY_REBUILDS = 6;
const RETRY_MS = 1_000;
/** About 1 KiB each with few splits. */
const SLICES_MAX = 200_000;
const LOADS_AT_ONCE = 4;
const LOOKED_AT_MAX = 32;
/** A slice that no read has used for this many refreshes, a minute or more, can be forgotten. */
const UNUSED_REFRESHES = 20;
const CHANGES_PAGE = 1_000;
const CHANGES_MAX = 20_000;
/** A filter has room for this many times its partitions before it must be built again. */
const GROWTH = 2;
const CAPACITY_MIN = 256;

interface Entry {
  readonly slice: SliceRef;
  /** Undefined until loaded; loaded without a filter, none of the slice's partitions is split. */
  loaded: { readonly filter: BloomFilter | undefined; readonly atMs: number } | undefined;
  /** The filter has the changes from before this time (of this server's clock). Microseconds. */
  followedTo: number;
  /** When that was, on the monotonic clock. */
  followedAtMs: number;
  /** How often the filter was filled. */
  fills: number;
  loading: boolean;
  /** When to retry after a failure, on the monotonic clock. */
  retryAtMs: number;
  used: boolean;
  /** When it was opened and filled last, on the wall clock, in microseconds. */
  readonly openedAt: number;
  loadedAt: number;
  /** Counted while it is loaded. */
  checks: number;
  hits: number;
  falsePositives: number;
  /** The refresh before its last use. */
  usedAtRefresh: number;
}

export class SliceFilters {
  readonly #options: SliceFiltersOptions;
  readonly #rebuildMs: number;
  readonly #slicesMax: number;
  readonly #changesMax: number;
  /** By namespace id, then by slice: two lookups cost less than building one key. */
  readonly #namespaces = new Map<string, Map<string, Entry>>();
  /** The keys of the changes seen at the last refresh, by namespace id. */
  readonly #seen = new Map<string, ReadonlySet<string>>();
  /** The mark of a namespace's changes when they were last followed, by namespace id. */
  readonly #marks = new Map<string, number | undefined>();
  readonly #toLoad: Entry[] = [];
  #loads = 0;
  #slices = 0;
  /** How many there were. */
  #refreshes = 0;
  /** The ids of namespaces of which a filter was filled since their changes were last followed. */
  readonly #filled = new Set<string>();
  /** Where the search for a slice to forget continues. */
  #candidates: Generator<Entry, void, undefined> = this.#entries();

  constructor(options: SliceFiltersOptions) {
    this.#options = options;
    this.#rebuildMs = options.rebuildMs ?? REBUILD_MS;
    this.#slicesMax = options.slicesMax ?? SLICES_MAX;
    this.#changesMax = options.changesMax ?? CHANGES_MAX;
  }

  check(partition: PartitionKey): FilterAnswer {
    const entry = this.#namespaces.get(partition.namespaceId)?.get(partition.slice);
    if (entry?.loaded === undefined) {
      const opened = entry ?? this.#open(partition);
      if (opened !== undefined) this.#load(opened);
      return "NOT_LOADED";
    }
    entry.used = true;
    entry.checks++;
    entry.usedAtRefresh = this.#refreshes;
    const { filter } = entry.loaded;
    if (filter === undefined) return "NONE";
    hashPartition(partition);
    if (!filter.has(partitionHash.low, partitionHash.high)) return "MISS";
    entry.hits++;
    return "HIT";
  }

  /** A read that the filter answered "perhaps" found no route. */
  falsePositive({ namespaceId, slice }: PartitionKey): void {
    const entry = this.#namespaces.get(namespaceId)?.get(slice);
    if (entry !== undefined) entry.falsePositives++;
  }

  /** Adds a route that this process has published or learned of otherwise. */
  add(partition: PartitionKey): void {
    const entry = this.#namespaces.get(partition.namespaceId)?.get(partition.slice);
    // A load in progress may have passed the route's place in the list: the change log adds it
    // later.
    if (entry?.loaded === undefined) return;
    const filter = entry.loaded.filter ?? new BloomFilter(CAPACITY_MIN);
    hashPartition(partition);
    filter.add(partitionHash.low, partitionHash.high);
    entry.loaded = { ...entry.loaded, filter };
  }

  /** Follows the changes until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(this.#options.margins.viewMaxAge.ms / 3, signal);
      if (!signal.aborted) await this.refresh();
    }
  }

  /** Brings all filters up to date, once. Never rejects. */
  async refresh(): Promise<void> {
    this.#refreshes++;
    const ids = [...this.#namespaces.keys()];
    const startedAtMs = this.#options.clock.monotonicMs();
    let marks: ReadonlyMap<string, number> | undefined;
    try {
      // Before the changes: what is marked while they are listed is followed the next time.
      if (ids.length > 0) marks = await readSplitMarks(this.#options.catalog);
    } catch (error) {
      this.#options.trouble("the changes of splits could not be listed", error);
      return;
    }
    const follow = (id: string): Promise<void> =>
      this.#refreshNamespace(id, marks?.get(id), startedAtMs);
    await forEachBounded(ids, follow, LOADS_AT_ONCE);
  }

  /** How long ago the filter that lags most was brought up to date; undefined without filters. */
  oldestMs(): number | undefined {
    let oldestAtMs: number | undefined;
    for (const entries of this.#namespaces.values()) {
      for (const { loaded, followedAtMs } of entries.values()) {
        if (loaded !== undefined) oldestAtMs = Math.min(oldestAtMs ?? followedAtMs, followedAtMs);
      }
    }
    return oldestAtMs === undefined ? undefined : this.#options.clock.monotonicMs() - oldestAtMs;
  }

  *sizes(): Generator<FilterSize, void, undefined> {
    for (const entries of this.#namespaces.values()) {
      for (const { slice, loaded } of entries.values()) {
        const filter = loaded?.filter;
        if (filter !== undefined) yield { slice, entries: filter.count, bytes: filter.bytes };
      }
    }
  }

  *figures(): Generator<FilterFigures, void, undefined> {
    const nowMs = this.#options.clock.monotonicMs();
    for (const entries of this.#namespaces.values()) {
      for (const entry of entries.values()) {
        if (entry.loaded !== undefined) yield figuresOf(entry, entry.loaded.filter, nowMs);
      }
    }
  }

  /** Undefined if all slices that there is room for are in use. */
  #open({ namespaceId, slice }: SliceRef): Entry | undefined {
    if (this.#slices >= this.#slicesMax && !this.#forgetUnused()) return undefined;
    const entry: Entry = {
      slice: { namespaceId, slice },
      loaded: undefined,
      followedTo: 0,
      followedAtMs: 0,
      fills: 0,
      loading: false,
      retryAtMs: 0,
      used: true,
      openedAt: this.#options.clock.nowMicros(),
      loadedAt: 0,
      checks: 0,
      hits: 0,
      falsePositives: 0,
      usedAtRefresh: this.#refreshes,
    };
    const entries = this.#namespaces.get(namespaceId) ?? new Map<string, Entry>();
    this.#namespaces.set(namespaceId, entries.set(slice, entry));
    this.#slices++;
    return entry;
  }

  /**
   * Forgets one that is not in use. A search looks at a few entries only: every read of a further
   * slice may ask.
   */
  #forgetUnused(): boolean {
    for (let looked = 0; looked < LOOKED_AT_MAX; looked++) {
      const next = this.#candidates.next();
      if (next.done === true) {
        this.#candidates = this.#entries();
        continue;
      }
      const { loaded, slice, usedAtRefresh } = next.value;
      if (loaded === undefined || this.#refreshes - usedAtRefresh < UNUSED_REFRESHES) continue;
      this.#forget(slice);
      return true;
    }
    return false;
  }

  *#entries(): Generator<Entry, void, undefined> {
    for (const entries of this.#namespaces.values()) yield* entries.values();
  }

  #forget({ namespaceId, slice }: SliceRef): void {
    const entries = this.#namespaces.get(namespaceId);
    if (entries?.delete(slice) === true) this.#slices--;
    if (entries?.size !== 0) return;
    this.#namespaces.delete(namespaceId);
    this.#seen.delete(namespaceId);
    this.#marks.delete(namespaceId);
    this.#filled.delete(namespaceId);
  }

  /** Queues the load: a read of a long interval opens many slices at once. */
  #load(entry: Entry): void {
    if (entry.loading || this.#options.clock.monotonicMs() < entry.retryAtMs) return;
    entry.loading = true;
    this.#toLoad.push(entry);
    if (this.#loads < LOADS_AT_ONCE) void this.#loadAll();
  }

  async #loadAll(): Promise<void> {
    this.#loads++;
    for (;;) {
      const entry = this.#toLoad.shift();
      if (entry === undefined) break;
      try {
        await this.#fill(entry);
      } catch (error) {
        // The filter stays as it was; a later read or refresh tries again.
        entry.retryAtMs = this.#options.clock.monotonicMs() + RETRY_MS;
        this.#options.trouble("the filter of a slice could not be filled", error);
      } finally {
        entry.loading = false;
      }
    }
    this.#loads--;
  }

  async #fill(entry: Entry): Promise<void> {
    const { catalog, clock } = this.#options;
    const startedAt = clock.nowMicros();
    const startedAtMs = clock.monotonicMs();
    const hashes: number[] = [];
    for await (const { partition, segments } of listRoutes(catalog, entry.slice)) {
      if (segments.length === 0) continue;
      hashPartition(partition);
      hashes.push(partitionHash.low, partitionHash.high);
    }
    let filter: BloomFilter | undefined;
    if (hashes.length > 0) {
      filter = new BloomFilter(Math.max(CAPACITY_MIN, (hashes.length / 2) * GROWTH));
      for (let at = 0; at < hashes.length; at += 2) {
        filter.add(hashes[at] as number, hashes[at + 1] as number);
      }
    }
    entry.loaded = { filter, atMs: clock.monotonicMs() };
    entry.loadedAt = clock.nowMicros();
    // The listing may have missed routes published while it ran.
    entry.followedTo = startedAt;
    entry.followedAtMs = startedAtMs;
    entry.fills++;
    this.#filled.add(entry.slice.namespaceId);
  }

  async #refreshNamespace(
    namespaceId: string,
    mark: number | undefined,
    markedAtMs: number,
  ): Promise<void> {
    const entries = this.#namespaces.get(namespaceId) ?? new Map<string, Entry>();
    const nowMs = this.#options.clock.monotonicMs();
    for (const entry of entries.values()) {
      const { loaded } = entry;
      if (loaded === undefined) continue;
      const full = loaded.filter !== undefined && loaded.filter.count > loaded.filter.capacity;
      const patience = this.#rebuildMs * (loaded.filter === undefined ? EMPTY_REBUILDS : 1);
      const old = nowMs - loaded.atMs >= patience;
      if (old && !entry.used) this.#forget(entry.slice);
      else if (old || full) {
        entry.used = false;
        this.#load(entry);
      }
    }
    const isKnown = this.#marks.has(namespaceId) && !this.#filled.has(namespaceId);
    if (isKnown && this.#marks.get(namespaceId) === mark) {
      // Nothing has changed. The next change is looked for from where the last one was: a publisher
      // may mark it late.
      for (const entry of entries.values()) {
        entry.followedAtMs = Math.max(entry.followedAtMs, markedAtMs);
      }
      return;
    }
    this.#filled.delete(namespaceId);
    try {
      if (await this.#follow(namespaceId, entries)) this.#marks.set(namespaceId, mark);
    } catch (error) {
      this.#options.trouble("the changes of splits could not be listed", error);
    }
  }

  /** Whether the filters have all changes now. */
  async #follow(namespaceId: string, entries: ReadonlyMap<string, Entry>): Promise<boolean> {
    const { catalog, clock, onChange } = this.#options;
    const startedAt = clock.nowMicros();
    const startedAtMs = clock.monotonicMs();
    const loaded = [...entries.values()].filter((entry) => entry.loaded !== undefined);
    if (loaded.length === 0) return false;
    const fills = loaded.map((entry) => entry.fills);
    const before = this.#seen.get(namespaceId) ?? new Set();
    const seen = new Set<string>();
    let after = changesFrom(Math.min(...loaded.map(followedTo)) - this.#overlapMicros());
    for (;;) {
      const page = await listChanges(catalog, namespaceId, after, CHANGES_PAGE);
      for (const { key, partition } of page) {
        after = key;
        seen.add(key);
        // Adds also the changes seen before: a filter that was loading then has not taken them.
        this.add(partition);
        if (!before.has(key)) onChange(partition);
      }
      if (page.length < CHANGES_PAGE) break;
      if (seen.size >= this.#changesMax) {
        // No filter has all changes until it is filled again: until then the next refresh begins
        // where this one did.
        for (const entry of loaded) this.#load(entry);
        this.#marks.delete(namespaceId);
        this.#seen.set(namespaceId, seen);
        return false;
      }
    }
    this.#seen.set(namespaceId, seen);
    loaded.forEach((entry, nth) => {
      // A filter that was filled meanwhile has only the routes it listed itself, not the changes
      // followed before.
      if (entry.fills !== fills[nth]) return;
      entry.followedTo = Math.max(entry.followedTo, startedAt);
      entry.followedAtMs = startedAtMs;
    });
    return true;
  }

  /**
   * A publisher's clock may be behind this server's, and it may have been slow between reading its
   * clock and writing.
   */
  #overlapMicros(): number {
    const { clockSkew, viewMaxAge } = this.#options.margins;
    return 2 * clockSkew.micros + 3 * viewMaxAge.micros;
  }
}

function figuresOf(entry: Entry, filter: BloomFilter | undefined, nowMs: number): FilterFigures {
  const { slice, checks, hits, falsePositives, loadedAt, openedAt } = entry;
  const others = checks - hits + falsePositives;
  return {
    slice,
    entries: filter?.count ?? 0,
    bytes: filter?.bytes ?? 0,
    capacity: filter?.capacity ?? 0,
    checks,
    hits,
    falsePositives,
    configuredRate: FALSE_POSITIVE_RATE_MAX,
    expectedRate: filter?.falsePositiveRate ?? 0,
    observedRate: others === 0 ? undefined : falsePositives / others,
    ageMs: nowMs - entry.followedAtMs,
    loadedAt,
    openedAt,
  };
}

function followedTo(entry: Entry): number {
  return entry.followedTo;
}
