/**
 * One comparison at work: every split of its target against its original, event by event.
 *
 * Splits are taken a few at a time, each range by range, and what a range has found is added to the
 * saved progress (`SavedProgress`), from which another process can continue. Reads ask all
 * replicas. A range in which the two sides differ is done when a recheck has settled the
 * difference; if the process stops before, the next one compares that range again, so that a
 * difference is never only in memory.
 */
import type { Clock } from "../../lib/clock.ts";
import { CODES, ServiceError } from "../../lib/errors.ts";
import { LinkedAbort } from "../../lib/linked-abort.ts";
import { mapBounded } from "../../lib/map-bounded.ts";
import { locateNamespace } from "../../records/locate-namespace.ts";
import { namespaceNotFound } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { readParts } from "../../records/part-records.ts";
import { readSlice, readSlices } from "../../records/slice-records.ts";
import { listSplits, listSplitsPage, readSplit } from "../../records/split-records.ts";
import { isSealed } from "../../model/epochs.ts";
import type { ReportedDifference } from "../../model/reported-difference.ts";
import { routeOf } from "../../model/split.ts";
import type { RouteSegment, SplitRecord } from "../../model/split.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { EventStore, ServiceLevel } from "../../ports/event-store.ts";
import { compareRange, DAMAGED_ORIGINAL, damagedSplit } from "./compare-range.ts";
import type { Compared } from "./compare-range.ts";
import { originalCursor, splitCursor } from "./event-cursor.ts";
import { SavedProgress } from "./saved-progress.ts";
import { rangesOf } from "./split-ranges.ts";
import type { SplitRange } from "./split-ranges.ts";
import type { Difference } from "../use-cases.ts";
import type { VerifyRecord } from "./verify-records.ts";

export interface VerificationDeps {
  readonly catalog: Catalog;
  readonly store: EventStore;
  readonly clock: Clock;
  /**
   * Called for each range in which a split that servers may follow is not its original: they must
   * not serve it until a recheck has settled that (rule C14). Resolves to true when it is settled,
   * to false if there is no room for it now, and rejects when the signal aborts.
   */
  readonly recheck?:
    ((difference: ReportedDifference, signal: AbortSignal) => Promise<boolean>) | undefined;
}

/** Splits compared at a time, each with two fetches of 1 MiB in memory. */
const SPLITS_AT_ONCE = 4;
/** What fails this often at one place ends the comparison; started again, it continues there. */
const ATTEMPTS_MAX = 4;
const RETRY_MS = 1_000;
/** No caller waits, so a second replica is not asked early. */
const LEVEL: ServiceLevel = { consistency: "ALL", targetMs: 5_000, maxMs: 5_000 };

const RECHECKING =
  "a split differs from its original: Braid reads both again from all replicas before it acts and continues";

/** A segment whose parts are not all in the catalog. */
interface Unlisted {
  readonly from: number;
  readonly unlisted: string;
}

export class Verification {
  readonly #deps: VerificationDeps;
  readonly #abort: LinkedAbort;
  readonly #progress: SavedProgress;
  #rechecks = 0;

  /** `claimed`: its owner is this process. */
  constructor(deps: VerificationDeps, claimed: VerifyRecord, signal: AbortSignal) {
    this.#deps = deps;
    this.#abort = new LinkedAbort(signal);
    const { catalog, clock } = deps;
    this.#progress = new SavedProgress(
      { catalog, clock, lost: () => this.#abort.abort() },
      claimed,
    );
  }

  /**
   * Resolves when it has ended, the signal aborts, or another process has taken it over. True if it
   * has ended.
   */
  async run(): Promise<boolean> {
    const stopSaving = new AbortController();
    const saving = this.#progress.run(stopSaving.signal);
    try {
      await this.#compareAll();
      this.#end("DONE", skippedReason(this.#progress.now));
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#end("FAILED", messageOf(error));
    } finally {
      stopSaving.abort();
      await saving;
      this.#abort.abort();
    }
    await this.#progress.release();
    return this.#progress.isOver;
  }

  #end(state: "DONE" | "FAILED", reason: string): void {
    this.#progress.change({ state, reason, endedAt: this.#deps.clock.nowMicros() });
  }

  async #compareAll(): Promise<void> {
    const { slice, partition } = this.#progress.now.target;
    if (slice !== null && partition !== null) return this.#compareOne();
    const names = await this.#patiently(() => this.#sliceNames());
    if (!this.#progress.now.checkpoint.counted) await this.#patiently(() => this.#count(names));
    for (const [nth, name] of names.entries()) {
      if (name < this.#progress.now.checkpoint.slice) continue;
      await this.#compareSlice(name);
      const next = names[nth + 1];
      if (next !== undefined) this.#progress.moveTo({ slice: next, cursor: "", begun: {} });
    }
  }

  async #compareOne(): Promise<void> {
    const { namespaceId, target, checkpoint } = this.#progress.now;
    if (target.slice === null || target.partition === null) return;
    const partition = { namespaceId, slice: target.slice, ...target.partition };
    await this.#patiently(async () => {
      const record = await readSplit(this.#deps.catalog, partition);
      if (!checkpoint.counted) this.#countOne(record);
      // Saying "no differences" of what was not compared would be a lie.
      if (record === undefined || routeOf(record).segments.length === 0) this.#skip();
      else await this.#compareSplit(record);
    });
    this.#progress.change({ splitsDone: 1 });
  }

  /** Those that can still be read, by start. */
  async #sliceNames(): Promise<string[]> {
    const { namespaceId, target } = this.#progress.now;
    const slices = await readSlices(this.#deps.catalog, namespaceId);
    return slices
      .filter(({ name, state }) => state !== "DROPPED" && (target.slice ?? name) === name)
      .map(({ name }) => name);
  }

  #countOne(record: SplitRecord | undefined): void {
    const segments = record === undefined ? [] : routeOf(record).segments;
    this.#progress.change({
      splitsTotal: 1,
      eventsTotal: segments.reduce((sum, { events }) => sum + events, 0),
      bytesTotal: segments.reduce((sum, { bytes }) => sum + bytes, 0),
    });
    this.#progress.moveTo({ counted: true });
  }

  async #count(names: readonly string[]): Promise<void> {
    const { namespaceId } = this.#progress.now;
    let [splitsTotal, eventsTotal, bytesTotal] = [0, 0, 0];
    for (const slice of names) {
      for await (const record of listSplits(this.#deps.catalog, { namespaceId, slice })) {
        const { segments } = routeOf(record);
        if (segments.length > 0) splitsTotal++;
        for (const { events, bytes } of segments) {
          eventsTotal += events;
          bytesTotal += bytes;
        }
        this.#abort.signal.throwIfAborted();
      }
    }
    this.#progress.change({ splitsTotal, eventsTotal, bytesTotal });
    this.#progress.moveTo({ counted: true });
  }

  async #compareSlice(slice: string): Promise<void> {
    const { catalog } = this.#deps;
    const ref = { namespaceId: this.#progress.now.namespaceId, slice };
    let cursor =
      slice === this.#progress.now.checkpoint.slice ? this.#progress.now.checkpoint.cursor : "";
    this.#progress.moveTo({ slice, cursor });
    do {
      const after = cursor;
      const page = await this.#patiently(() => listSplitsPage(catalog, ref, after, SPLITS_AT_ONCE));
      const split = page.records.filter((record) => routeOf(record).segments.length > 0);
      const compared = mapBounded(
        split,
        () => SPLITS_AT_ONCE,
        this.#abort.signal,
        (record) => this.#patiently(() => this.#compareSplit(record)),
      );
      for await (const _ of compared) this.#abort.signal.throwIfAborted();
      this.#progress.change({ splitsDone: this.#progress.now.splitsDone + split.length });
      // At the end of a slice the caller names the next one.
      if (page.cursor !== "") this.#progress.moveTo({ cursor: page.cursor, begun: {} });
      cursor = page.cursor;
    } while (cursor !== "");
  }

  /** Continues where it stopped, so it can be repeated. */
  async #compareSplit(record: SplitRecord): Promise<void> {
    const found = await this.#servedIn(record);
    if (found === undefined) return this.#skip();
    const segments = routeOf(record).segments.filter((each) => isSealed(found.epochStarts, each));
    if (segments.length === 0) return this.#skip();
    const name = nameOf(record);
    const copies = segments.map(({ generation }) => generation).join(",");
    const begun = this.#progress.now.checkpoint.begun[name];
    const done = begun?.copies === copies ? begun.splitRanges : 0;
    let nth = 0;
    for (const segment of segments) {
      for (const splitRange of await this.#rangesOf(record, segment)) {
        if (nth++ < done) continue;
        const compared = await this.#compareRange(record, splitRange);
        // Discard a difference if the slice was dropped, or its time opened again, during the
        // comparison.
        if (compared.differencesFound > 0) {
          const namespace = await this.#servedIn(record);
          if (namespace === undefined || !isSealed(namespace.epochStarts, segment)) {
            return this.#skip();
          }
          this.#abort.signal.throwIfAborted();
          if (compared.differences.some(isOfSplit)) {
            await this.#recheck(record, namespace, segment, splitRange);
          }
        }
        this.#abort.signal.throwIfAborted();
        this.#progress.add(compared, name, { copies, splitRanges: nth });
      }
    }
  }

  /** A segment whose parts are not all listed is reported as damaged. */
  async #rangesOf(
    { partition }: SplitRecord,
    segment: RouteSegment,
  ): Promise<(SplitRange | Unlisted)[]> {
    try {
      return rangesOf(segment, await readParts(this.#deps.catalog, partition, segment.partRanges));
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "DATA_LOSS") throw error;
      return [{ from: segment.from, unlisted: error.message }];
    }
  }

  async #compareRange(record: SplitRecord, splitRange: SplitRange | Unlisted): Promise<Compared> {
    const { partition, namespace } = record;
    const { slice: timeSlice, seriesId, timeBucket, eventBucket } = partition;
    const location = { namespace, timeSlice, seriesId, timeBucket, eventBucket };
    if ("unlisted" in splitRange)
      return damagedSplit(location, splitRange.from, splitRange.unlisted);
    const { signal } = this.#abort;
    const reading = { store: this.#deps.store, partition, level: LEVEL, signal };
    const original = originalCursor(reading, splitRange);
    const split = splitCursor(reading, splitRange.segment, splitRange.parts);
    return compareRange(original, split, location, splitRange.from);
  }

  /** Tries again what may succeed later, a bounded number of times. */
  async #patiently<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this.#abort;
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        const passing = error instanceof ServiceError && CODES[error.code].retry;
        if (!passing || attempt === ATTEMPTS_MAX) throw error;
        await this.#deps.clock.sleep(RETRY_MS * 2 ** (attempt - 1), signal);
        signal.throwIfAborted();
      }
    }
  }

  /** The namespace, if a server could follow the split: its slice is there. */
  async #servedIn({ partition, namespace }: SplitRecord): Promise<NamespaceRecord | undefined> {
    const { catalog } = this.#deps;
    const found = await locateNamespace(catalog, partition.namespaceId, namespace);
    // Started again after a restoration, the comparison continues here.
    if (typeof found === "string") throw namespaceNotFound(namespace);
    const slice = await readSlice(catalog, partition.namespaceId, partition.slice);
    return slice !== undefined && slice.state !== "DROPPED" ? found : undefined;
  }

  /** Resolves when the difference is settled, however long that takes. */
  async #recheck(
    { partition }: SplitRecord,
    { name: namespace, readMode }: NamespaceRecord,
    segment: RouteSegment,
    splitRange: SplitRange | Unlisted,
  ): Promise<void> {
    const { clock, recheck } = this.#deps;
    const { signal } = this.#abort;
    if (recheck === undefined) return;
    // Without all of its parts none of the segment can be read.
    const { from, to } = "unlisted" in splitRange ? segment : splitRange;
    const { round } = readMode;
    this.#tellRechecks(1);
    try {
      while (!(await recheck({ namespace, partition, round, segment, from, to }, signal))) {
        await clock.sleep(RETRY_MS, signal);
        signal.throwIfAborted();
      }
    } finally {
      this.#tellRechecks(-1);
    }
  }

  #tellRechecks(more: 1 | -1): void {
    this.#rechecks += more;
    this.#progress.change({ reason: this.#rechecks > 0 ? RECHECKING : "" });
  }

  #skip(): void {
    this.#progress.change({ splitsSkipped: this.#progress.now.splitsSkipped + 1 });
  }
}

/** A split is not held back for damage of its original: it may be all that can be read. */
function isOfSplit({ kind }: Difference): boolean {
  return kind !== DAMAGED_ORIGINAL;
}

function skippedReason({ splitsSkipped }: VerifyRecord): string {
  if (splitsSkipped === 0) return "";
  const what = splitsSkipped === 1 ? "1 split was" : `${splitsSkipped} splits were`;
  return `${what} not compared: nobody is served from it, because nothing of it is completed, its slice was dropped or its time was opened again`;
}

function nameOf({ partition }: SplitRecord): string {
  return `${partition.seriesId}|${partition.timeBucket}|${partition.eventBucket}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
