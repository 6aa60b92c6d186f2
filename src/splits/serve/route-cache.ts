/**
 * Routes at hand: read through from the catalog, asked for once however many wait, bounded in
 * bytes.
 *
 * A route is given out only while it is younger than `viewMaxAge`, counted from the moment it was
 * asked for, so that a split that was rolled back is served nowhere after that (rule C3). That a
 * partition has no route is remembered like any other answer. Those in use are asked for again
 * ahead of their time. Lists of parts never change and have no age.
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

/** What is known of one partition: no route, too, is known. */
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
/** About, in memory: for the bound. */
const ENTRY_BYTES = 300;
const SEGMENT_BYTES = 250;
const PART_BYTES = 250;

export class RouteCache {
  readonly #options: RouteCacheOptions;
  /** The one asked for longest ago goes first: those in use are asked for again. */
  readonly #entries: LRUCache<string, Entry>;
  /** The one used longest ago goes first. */
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
   * What is known, if it is young enough to act on. A frequent caller makes the partition's text
   * once.
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

  /** The same, asked for if need be. Rejects if the catalog cannot be asked. */
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

  /** What is known of it is old: it is asked for when it is needed next. */
  forget(partition: PartitionKey): void {
    const key = partitionText(partition);
    this.#entries.delete(key);
    // What is under way may have been asked for before the change: its answer is not kept.
    this.#asking.delete(key);
  }

  /** Keeps those in use young, until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(this.#options.viewMaxAgeMs / 3, signal);
      if (!signal.aborted) await this.refresh(signal);
    }
  }

  /**
   * Asks again for those used since the last time, and lets go of those that are too old. Never
   * rejects.
   */
  async refresh(signal: AbortSignal): Promise<void> {
    const used: PartitionKey[] = [];
    // The oldest first: they are the first that would be too old.
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
      // The same as a part whose blocks are missing: nothing that the storage may still answer.
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
    // Not used yet: an entry that nobody uses until the next refresh is not asked for again.
    this.#entries.set(key, { known, used: false });
    this.#makeRoom();
  }

  /** Both have one bound together. */
  #makeRoom(): void {
    // Parts first: a route that is forgotten makes the next read wait for its parts, too.
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
