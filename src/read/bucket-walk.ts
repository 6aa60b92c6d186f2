/**
 * Walks over the time buckets of a query, run by run. A storage that can search for the next bucket
 * with events is asked for it after a few empty ones. For others the walk reads ahead: the more
 * buckets in a row are empty, the further.
 *
 * A step that a page did not wait for stays pending, and the rest that did not fit on a page is put
 * back: the next page begins with them. All fetched data stays within `bytesHeld`.
 */
import { ServiceError } from "../lib/errors.ts";
import { nextTurn } from "../lib/in-steps.ts";
import { LinkedAbort } from "../lib/linked-abort.ts";
import { mapBounded } from "../lib/map-bounded.ts";
import type { NamespaceView } from "../model/namespace.ts";
import type { Position, Run } from "../wire/frames.ts";
import { BucketReader, runBytesMin } from "./bucket-reader.ts";
import { bucketsOf, bucketsLeft, eventBucketsMax, positionBefore } from "./buckets-of.ts";
import type { BucketRange } from "./buckets-of.ts";
import { partitionsOf } from "./partitions-of.ts";
import type { ReadDependencies } from "./read-dependencies.ts";
import type { ReadQuery } from "./read-query.ts";

/** The next run of the current bucket, or the next bucket; undefined at the end of either. */
export type WalkStep = Run | BucketReader | undefined;

export interface WalkOptions {
  readonly deps: Pick<ReadDependencies, "opener" | "limits" | "search">;
  readonly query: ReadQuery;
  readonly view: NamespaceView;
  /** The last position that earlier pages have examined. */
  readonly after: Position | undefined;
  readonly pageBytesMax: number;
  /** How many events the next page may hold. */
  readonly pageEventsMax: () => number;
  /** How many events of the buckets to come are wanted; undefined if that is not known. */
  readonly eventsWanted: () => number | undefined;
}

/**
 * Expected size of an event, for sizing the fetches: a wrong guess costs a round trip, not memory.
 */
const EVENT_BYTES_GUESS = 512;
const FETCH_BYTES_MIN = 64 * 1024;
/** A search costs about as much as reading an empty bucket. */
const EMPTY_BEFORE_SEARCH = 2;
/**
 * Other work runs after so many buckets, because some stores answer without waiting for anything
 * (rule C27). With 64 reads at a time, a turn of all of them takes a few milliseconds.
 */
const BUCKETS_PER_TURN = 16;

export class BucketWalk {
  readonly #options: WalkOptions;
  readonly #leaving: LinkedAbort;
  #buckets: AsyncGenerator<BucketReader, void, undefined>;
  readonly #fetchBytes: number;
  readonly #aheadMax: number;
  /** Every bucket that was opened and not yet closed, including those read ahead. */
  readonly #opened = new Set<BucketReader>();
  #bucket: BucketReader | undefined;
  #rest: Run | undefined;
  #pending: Promise<WalkStep> | undefined;
  /** Buckets without an event since the last one that had some. */
  #emptyBuckets = 0;
  /** The bucket that the walk left last. */
  #ended: BucketRange | undefined;
  #endedCount = 0;

  constructor(options: WalkOptions, signal: AbortSignal) {
    const { deps, query, view, after, pageBytesMax, pageEventsMax } = options;
    this.#options = options;
    const searches = deps.search.findTimeBucket !== undefined;
    const steps = view.idStrategies.get(query.seriesId);
    const eventBuckets = eventBucketsMax(view.slices, query, steps);
    // Every partition fetches something, however small its share: with many of them, buckets are
    // read one at a time. A search makes it unnecessary to read ahead.
    this.#aheadMax = searches ? 1 : Math.max(1, Math.floor(deps.limits.aheadMax / eventBuckets));
    this.#fetchBytes = Math.max(
      fetchBytesOf(pageBytesMax, pageEventsMax()),
      eventBuckets * runBytesMin(eventBuckets),
    );
    this.#leaving = new LinkedAbort(signal);
    this.#buckets = this.#bucketsAfter(after);
  }

  /** The memory it may hold: for the bucket being read, and for those read ahead. */
  get bytesHeld(): number {
    return 2 * this.#fetchBytes;
  }

  /** The current bucket; undefined between two buckets and at the end. */
  get bucket(): BucketReader | undefined {
    return this.#bucket;
  }

  /** The same step again until it is taken. */
  next(): Promise<WalkStep> {
    return (this.#pending ??= this.#step());
  }

  /** The step that `next` returned has been used. */
  take(step: WalkStep): void {
    this.#pending = undefined;
    if (step instanceof BucketReader) this.#bucket = step;
  }

  /** The rest of the last run that did not fit on the page. */
  putBack(rest: Run | undefined): void {
    this.#rest = rest;
  }

  /** Leaves the current bucket, which is at its end. */
  async endBucket(bucket: BucketReader, found: "empty" | "events"): Promise<void> {
    this.#emptyBuckets = found === "empty" ? this.#emptyBuckets + 1 : 0;
    this.#bucket = undefined;
    this.#ended = bucket.bucket;
    this.#opened.delete(bucket);
    await bucket.close();
    if (++this.#endedCount % BUCKETS_PER_TURN === 0) await nextTurn();
  }

  /**
   * Ends what still runs and waits for it. Failures that leaving causes are ignored: the pages are
   * valid.
   */
  async close(): Promise<void> {
    this.#leaving.abort();
    await Promise.allSettled([this.#pending]);
    await Promise.allSettled([this.#buckets.return()]);
    await Promise.allSettled([...this.#opened].map((bucket) => bucket.close()));
  }

  async #step(): Promise<WalkStep> {
    const rest = this.#rest;
    this.#rest = undefined;
    if (rest !== undefined) return rest;
    if (this.#bucket !== undefined) return this.#bucket.next();
    if (this.#emptyBuckets >= EMPTY_BEFORE_SEARCH) await this.#skipEmpty();
    const opened = await this.#buckets.next();
    return opened.done === true ? undefined : opened.value;
  }

  #bucketsAfter(after: Position | undefined): AsyncGenerator<BucketReader, void, undefined> {
    const { query, view } = this.#options;
    return mapBounded(
      bucketsOf(view.slices, { ...query, after }),
      () => Math.min(this.#aheadMax, 1 + this.#emptyBuckets),
      this.#leaving.signal,
      (bucket, signal) => this.#open(bucket, signal),
    );
  }

  /** Moves to the next bucket with events in the same slice, or to the next slice. */
  async #skipEmpty(): Promise<void> {
    const { deps, query, view } = this.#options;
    const left = this.#ended && bucketsLeft(this.#ended, query);
    if (deps.search.findTimeBucket === undefined || left === undefined) return;
    const { slice } = left;
    const series = { namespaceId: view.namespace.id, slice: slice.name, seriesId: query.seriesId };
    let found: number | undefined;
    try {
      found = await deps.search.findTimeBucket(series, left, this.#leaving.signal);
    } catch (error) {
      // The read of the next bucket retries, or reports the failure.
      if (error instanceof ServiceError && error.code === "STORAGE_UNAVAILABLE") return;
      throw error;
    }
    if (found === left.next) return;
    if (found !== undefined) this.#emptyBuckets = 0;
    // Nothing was read ahead, so it holds no bucket.
    await this.#buckets.return();
    this.#buckets = this.#bucketsAfter(positionBefore(slice, found, query.order));
  }

  #open(bucket: BucketRange, signal: AbortSignal): Promise<BucketReader> {
    const { deps, query, view, after, pageEventsMax, eventsWanted } = this.#options;
    const { slos, consistency } = view.namespace.config;
    // Buckets read ahead share one more fetch.
    const share = this.#emptyBuckets === 0 ? 1 : this.#aheadMax;
    const range = {
      from: bucket.from,
      to: bucket.to,
      order: query.order,
      after,
      // A filter may drop most of them: then only the bytes bound a fetch.
      runEventsMax: query.filters.length === 0 ? pageEventsMax() : deps.limits.pageEventsMax,
      runBytesMax: Math.ceil(this.#fetchBytes / share),
      eventsWanted: eventsWanted(),
      level: { ...slos.read, consistency },
    };
    const partitions = partitionsOf(query.seriesId, view, bucket);
    const reader = new BucketReader(deps.opener, view, bucket, partitions, range, signal);
    this.#opened.add(reader);
    return reader.open();
  }
}

function fetchBytesOf(pageBytesMax: number, eventsMax: number): number {
  return Math.min(pageBytesMax, Math.max(FETCH_BYTES_MIN, eventsMax * EVENT_BYTES_GUESS));
}
