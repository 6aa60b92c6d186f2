/**
 * The slices that the cluster has and had, and the size of their largest event: one record of the
 * catalog for each slice.
 *
 * The table alone is not enough: a table that a node does not know of yet looks like one that never
 * existed, and a table created late by a process that had paused looks like a wanted one. And a
 * read must know the largest possible event before it asks for a number of them (rule C20):
 * Cassandra's pages are counted in rows.
 */
import { decodeFormat, encodeFormat, unreadable } from "../../lib/stored-format.ts";
import { compareAndSet, LOST } from "../../lib/compare-and-set.ts";
import { LRUCache } from "lru-cache";
import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { SliceRef } from "../../model/partition.ts";
import { compareTables } from "../../model/table-names.ts";
import type { Catalog } from "../../ports/catalog.ts";

export interface SliceEntry {
  readonly state: "LIVE" | "DROPPED";
  /**
   * No event of the slice has more bytes: a power of two, raised before a larger event is written.
   */
  readonly eventBytesMax: number;
}

const entrySchema: z.ZodType<SliceEntry> = z.looseObject({
  state: z.enum(["LIVE", "DROPPED"]),
  eventBytesMax: z.number().int().positive(),
});

const EVENT_BYTES_FIRST = 256;
/** Of slices in use; beyond it the oldest are read again. */
const KNOWN_MAX = 10_000;
const LIST_PAGE = 1_000;
/**
 * Including split tables. More than any process asks for: no process makes a slice before the
 * newest dropped one.
 */
const DROPPED_KEPT = 8_000;

interface Known {
  readonly entry: SliceEntry | undefined;
  readonly askedAtMs: number;
}

export class SliceRegister {
  readonly #catalog: Catalog;
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  readonly #droppedKept: number;
  readonly #known = new LRUCache<string, Known>({ max: KNOWN_MAX });
  readonly #asking = new Map<string, Promise<SliceEntry | undefined>>();

  /** A reader gets entries that are at most `maxAgeMs` old. */
  constructor(
    catalog: Catalog,
    clock: Clock,
    maxAgeMs: number,
    droppedKept: number = DROPPED_KEPT,
  ) {
    this.#catalog = catalog;
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
    this.#droppedKept = droppedKept;
  }

  /** The current entry. */
  async read(slice: SliceRef): Promise<SliceEntry | undefined> {
    return (await this.#readStored(slice))?.entry;
  }

  /** The current entry, and cached from now on. */
  refresh(slice: SliceRef): Promise<SliceEntry | undefined> {
    return this.#askAnew(slice);
  }

  /** The cached entry if possible. It is read again in the background before it is too old. */
  async recent(slice: SliceRef): Promise<SliceEntry | undefined> {
    const known = this.#known.peek(nameOf(slice));
    const ageMs = known === undefined ? Infinity : this.#clock.monotonicMs() - known.askedAtMs;
    if (known === undefined || ageMs >= this.#maxAgeMs) return this.#ask(slice);
    if (ageMs >= this.#maxAgeMs / 3) {
      // If it fails, the cached entry serves until it is too old.
      this.#ask(slice).catch(() => undefined);
    }
    return known.entry;
  }

  /**
   * Moves the slice to a state and returns the result: a dropped one stays dropped. A new one
   * expects events as large as those of the namespace's other slices.
   */
  async move(slice: SliceRef, state: SliceEntry["state"]): Promise<SliceEntry> {
    const first = state === "LIVE" ? await this.#tidy(slice.namespaceId) : EVENT_BYTES_FIRST;
    return this.#change(slice, (before) =>
      before?.state === "DROPPED"
        ? before
        : { state, eventBytesMax: before?.eventBytesMax ?? first },
    );
  }

  /**
   * Resolves when readers will know, within the age they allow, that there may be events this
   * large.
   */
  async allowEvents(slice: SliceRef, bytes: number): Promise<void> {
    const known = this.#known.peek(nameOf(slice))?.entry;
    if (known !== undefined && bytes <= known.eventBytesMax) return;
    const eventBytesMax = 2 ** Math.ceil(Math.log2(Math.max(bytes, EVENT_BYTES_FIRST)));
    await this.#change(slice, (before) => {
      if (before === undefined) throw noSlice(slice);
      return before.eventBytesMax >= eventBytesMax ? before : { ...before, eventBytesMax };
    });
  }

  /** Forgets every slice of a removed namespace. */
  async forgetNamespace(namespaceId: string): Promise<void> {
    const space = spaceOf(namespaceId);
    for (;;) {
      const records = await this.#catalog.list(space, "", LIST_PAGE);
      for (const { key, version } of records) {
        await this.#catalog.remove(space, key, version);
        this.#known.delete(nameOf({ namespaceId, slice: key }));
      }
      if (records.length < LIST_PAGE) return;
    }
  }

  /**
   * Forgets the oldest dropped slices above a limit; returns the largest event of those that live.
   */
  async #tidy(namespaceId: string): Promise<number> {
    const space = spaceOf(namespaceId);
    const dropped: { readonly key: string; readonly version: number }[] = [];
    let largest = EVENT_BYTES_FIRST;
    for (let after = ""; ;) {
      const records = await this.#catalog.list(space, after, LIST_PAGE);
      for (const { key, value, version } of records) {
        const { state, eventBytesMax } = decode(value);
        if (state === "DROPPED") dropped.push({ key, version });
        else largest = Math.max(largest, eventBytesMax);
      }
      const last = records.at(-1);
      if (last === undefined || records.length < LIST_PAGE) break;
      after = last.key;
    }
    const byTime = dropped.toSorted((a, b) => compareTables(a.key, b.key));
    for (const { key, version } of byTime.slice(0, -this.#droppedKept)) {
      await this.#catalog.remove(space, key, version);
    }
    return largest;
  }

  async #change(
    slice: SliceRef,
    next: (before: SliceEntry | undefined) => SliceEntry,
  ): Promise<SliceEntry> {
    const message = `too many processes change slice ${slice.slice} at once; try again`;
    return compareAndSet({ message }, async () => {
      const askedAtMs = this.#clock.monotonicMs();
      const stored = await this.#readStored(slice);
      const entry = next(stored?.entry);
      const changed =
        entry === stored?.entry ||
        (await this.#catalog.write(
          spaceOf(slice.namespaceId),
          slice.slice,
          encodeFormat(entry),
          stored?.version ?? 0,
        )) !== undefined;
      if (!changed) return LOST;
      this.#remember(slice, { entry, askedAtMs });
      return entry;
    });
  }

  #ask(slice: SliceRef): Promise<SliceEntry | undefined> {
    const name = nameOf(slice);
    const asking = this.#asking.get(name) ?? this.#askAnew(slice);
    this.#asking.set(name, asking);
    return asking;
  }

  async #askAnew(slice: SliceRef): Promise<SliceEntry | undefined> {
    try {
      const askedAtMs = this.#clock.monotonicMs();
      const entry = await this.read(slice);
      this.#remember(slice, { entry, askedAtMs });
      return entry;
    } finally {
      this.#asking.delete(nameOf(slice));
    }
  }

  #remember(slice: SliceRef, known: Known): void {
    this.#known.set(nameOf(slice), known);
  }

  async #readStored({ namespaceId, slice }: SliceRef) {
    const record = await this.#catalog.read(spaceOf(namespaceId), slice);
    return record === undefined
      ? undefined
      : { entry: decode(record.value), version: record.version };
  }
}

function noSlice(slice: SliceRef): ServiceError {
  return new ServiceError("STORAGE_UNAVAILABLE", `there is no slice ${slice.slice}`, {
    details: { slice: slice.slice },
  });
}

function spaceOf(namespaceId: string): string {
  return `tables/${namespaceId}`;
}

function nameOf({ namespaceId, slice }: SliceRef): string {
  return `${namespaceId}/${slice}`;
}

function decode(value: string): SliceEntry {
  const name = { what: "the catalog's record of a table", details: {} };
  const parsed = entrySchema.safeParse(decodeFormat(value, name));
  if (parsed.success) return parsed.data;
  throw unreadable(name, parsed.error);
}
