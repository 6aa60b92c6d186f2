/**
 * A cache of routes: reads through to the catalog, one request per route for any number of waiting
 * callers, bounded in bytes.
 *
 * It returns a route only while it is younger than `viewMaxAge`, counted from the moment it was
 * requested, so that no server serves a rolled-back split after that (rule C3). It also caches that
 * a partition has no route. It refreshes routes in use before they are too old. Lists of parts
 * never change, so they have no age.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { forEachBounded } from "../../lib/for-each-bounded.ts";
import { readParts } from "../../records/part-records.ts";
import { readRoute } from "../../records/route-records.ts";
import { partitionText } from "../../model/partition.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { PartRecord, PartNumberRange, RouteRecord, RouteSegment } from "../../model/split.ts";
import { IntegrityError } from "../../parts/part-reader.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { Millis } from "../../lib/time-units.ts";

export interface RouteCacheOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly viewMaxAgeMs: Millis;
  readonly bytesMax: number;
  readonly observe: (partition: PartitionKey, result: "hit" | "miss") => void;
  readonly fetchTook: (partition: PartitionKey, seconds: number) => void;
  readonly trouble: (what: string, error: unknown) => void;
}

/** The cached answer for one partition; `route` undefined means that there is no route. */
export interface KnownRoute {
  readonly partition: PartitionKey;
  readonly route: RouteRecord | undefined;
  readonly askedAtMs: number;
}

interface Entry {
  readonly known: KnownRoute;
  used: boolean;
}

const REFRESHES_AT_ONCE = 8;
/** Approximate size in memory, for the bound. */
const ENTRY_BYTES = 300;
const SEGMENT_BYTES = 250;
const PART_BYTES = 250;

export class RouteCache {
  readonly #options: RouteCacheOptions;
  /** Evicts the entry requested longest ago: a refresh requests those in use again. */
  readonly #entries: LRUCache<string, Entry>;
  /** Evicts the entry used longest ago. */
  readonly #parts: LRUCache<string, readonly PartRecord[]>;
  readonly #asking = new Map<string, Promise<KnownRoute>>();
  readonly #askingParts = new Map<string, Promise<readonly PartRecord[]>>();

  constructor(options: RouteCacheOptions) {
    this.#options = options;
    const maxSize = options.bytesMax;
    this.#entries = new LRUCache({ maxSize, sizeCalculation: entryBytes });
    this.#parts = new LRUCache({ maxSize, sizeCalculation: partsBytes });
  }

  get bytes(): number {
    return this.#entries.calculatedSize + this.#parts.calculatedSize;
  }

  /**
   * The cached answer, if it is young enough to act on. A frequent caller makes the partition's
   * text once.
   */
  current(
    partition: PartitionKey,
    text: string = partitionText(partition),
  ): KnownRoute | undefined {
    const entry = this.#entries.peek(text);
    if (entry === undefined || !this.#isYoung(entry.known)) return undefined;
    entry.used = true;
    return entry.known;
  }

  /**
   * The same, but requests the route if it is not cached. Rejects if the catalog does not answer.
   */
  async get(partition: PartitionKey, text: string = partitionText(partition)): Promise<KnownRoute> {
    const current = this.current(partition, text);
    this.#options.observe(partition, current === undefined ? "miss" : "hit");
    return current ?? this.#ask(partition);
  }

  /** The listed parts of a segment of that partition. IntegrityError if one is missing. */
  async parts(
    partition: PartitionKey,
    { partRanges }: RouteSegment,
  ): Promise<readonly PartRecord[]> {
    const listed = partRanges.map(({ start, count }) => `${start}+${count}`).join(",");
    const key = `${partitionText(partition)}#${listed}`;
    const known = this.#parts.get(key);
    if (known !== undefined) return known;
    const asking = this.#askingParts.get(key);
    if (asking !== undefined) return asking;
    const ask = this.#timed(partition, () => this.#readParts(partition, partRanges))
      .then((parts) => {
        this.#parts.set(key, parts);
        this.#makeRoom();
        return parts;
      })
      .finally(() => this.#askingParts.delete(key));
    this.#askingParts.set(key, ask);
    return ask;
  }

  /** Drops the cached answer, which is old: the next use requests it again. */
  forget(partition: PartitionKey): void {
    const key = partitionText(partition);
    this.#entries.delete(key);
    // A pending request may have started before the change: its answer is not cached.
    this.#asking.delete(key);
  }

  /** Refreshes the entries in use until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(this.#options.viewMaxAgeMs / 3, signal);
      if (!signal.aborted) await this.refresh(signal);
    }
  }

  /**
   * Requests again the entries used since the last refresh, and drops those that are too old. Never
   * rejects.
   */
  async refresh(signal: AbortSignal): Promise<void> {
    const used: PartitionKey[] = [];
    // The oldest first: they would be the first to become too old.
    for (const key of this.#entries.rkeys()) {
      const entry = this.#entries.peek(key);
      if (entry === undefined) continue;
      if (entry.used) used.push(entry.known.partition);
      else if (!this.#isYoung(entry.known)) this.#entries.delete(key);
    }
    const refreshOne = async (partition: PartitionKey): Promise<void> => {
      if (signal.aborted) return;
      try {
        await this.#ask(partition);
      } catch (error) {
        this.#options.trouble("a route could not be asked for again", error);
      }
    };
    await forEachBounded(used, refreshOne, REFRESHES_AT_ONCE);
  }

  async #readParts(
    partition: PartitionKey,
    partRanges: readonly PartNumberRange[],
  ): Promise<PartRecord[]> {
    try {
      return await readParts(this.#options.catalog, partition, partRanges);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "DATA_LOSS") throw error;
      // Like a part whose blocks are missing: the storage cannot return it later.
      throw new IntegrityError("gap between parts", error.message, { cause: error });
    }
  }

  #ask(partition: PartitionKey): Promise<KnownRoute> {
    const key = partitionText(partition);
    const asking = this.#asking.get(key);
    if (asking !== undefined) return asking;
    const askedAtMs = this.#options.clock.monotonicMs();
    const ask: Promise<KnownRoute> = this.#timed(partition, () =>
      readRoute(this.#options.catalog, partition),
    )
      .then((route) => {
        const known = { partition, route, askedAtMs };
        if (this.#asking.get(key) === ask) this.#keep(key, known);
        return known;
      })
      .finally(() => {
        if (this.#asking.get(key) === ask) this.#asking.delete(key);
      });
    this.#asking.set(key, ask);
    return ask;
  }

  async #timed<T>(partition: PartitionKey, work: () => Promise<T>): Promise<T> {
    const { clock, fetchTook } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      return await work();
    } finally {
      fetchTook(partition, (clock.monotonicMs() - startedMs) / 1_000);
    }
  }

  #keep(key: string, known: KnownRoute): void {
    // Not used yet: a refresh does not request an entry that is unused since the last refresh.
    this.#entries.set(key, { known, used: false });
    this.#makeRoom();
  }

  /** Routes and parts share one bound. */
  #makeRoom(): void {
    // Parts first: after a route is evicted, the next read waits for its parts, too.
    while (this.bytes > this.#options.bytesMax && this.#parts.size > 0) this.#parts.pop();
    while (this.bytes > this.#options.bytesMax && this.#entries.size > 0) this.#entries.pop();
  }

  #isYoung(known: KnownRoute): boolean {
    return this.#options.clock.monotonicMs() - known.askedAtMs < this.#options.viewMaxAgeMs;
  }
}

function entryBytes({ known }: Entry, key: string): number {
  return ENTRY_BYTES + 2 * key.length + SEGMENT_BYTES * (known.route?.segments.length ?? 0);
}

function partsBytes(parts: readonly PartRecord[], key: string): number {
  return ENTRY_BYTES + 2 * key.length + PART_BYTES * parts.length;
}
