/**
 * Walks over the time buckets of a query, run by run, and reads ahead: the more buckets in a row
 * are empty, the further.
 *
 * A step that a page did not wait for stays pending, and the rest that did not fit on a page is put
 * back: the next page begins with them. All fetched data stays within `bytesHeld`.
 */
import { LinkedAbort } from "../lib/linked-abort.ts";
import { mapBounded } from "../lib/map-bounded.ts";
import type { NamespaceView } from "../model/namespace.ts";
import type { Position, Run } from "../wire/frames.ts";
import { BucketReader, runBytesMin } from "./bucket-reader.ts";
import { bucketsOf, eventBucketsMax } from "./buckets-of.ts";
import type { BucketRange } from "./buckets-of.ts";
import { partitionsOf } from "./partitions-of.ts";
import type { ReadDependencies } from "./read-dependencies.ts";
import type { ReadQuery } from "./read-query.ts";

/** The next run of the current bucket, or the next bucket; undefined at the end of either. */
export type WalkStep = Run | BucketReader | undefined;

export interface WalkOptions {
  readonly deps: Pick<ReadDependencies, "opener" | "limits">;
  readonly query: ReadQuery;
  readonly view: NamespaceView;
  /** The last position that earlier pages have examined. */
  readonly after: Position | undefined;
  readonly pageBytesMax: number;
  /** How many events the next page may hold. */
  readonly pageEventsMax: () => number;
}

/**
 * Expected size of an event, for sizing the fetches: a wrong guess costs a round trip, not memory.
 */
const EVENT_BYTES_GUESS = 512;
const FETCH_BYTES_MIN = 64 * 1024;

export class BucketWalk {
  readonly #options: WalkOptions;
  readonly #leaving: LinkedAbort;
  readonly #buckets: AsyncGenerator<BucketReader, void, undefined>;
  readonly #fetchBytes: number;
  readonly #aheadMax: number;
  /** Every bucket that was opened and not yet closed, including those read ahead. */
  readonly #opened = new Set<BucketReader>();
  #bucket: BucketReader | undefined;
  #rest: Run | undefined;
  #pending: Promise<WalkStep> | undefined;
  /** Buckets without an event since the last one that had some. */
  #emptyBuckets = 0;

  constructor(options: WalkOptions, signal: AbortSignal) {
    const { deps, query, view, after, pageBytesMax, pageEventsMax } = options;
    this.#options = options;
    const steps = view.idStrategies.get(query.seriesId);
    const eventBuckets = eventBucketsMax(view.slices, query, steps);
    // Every partition fetches something, however small its share: with many of them, buckets are
    // read one at a time.
    this.#aheadMax = Math.max(1, Math.floor(deps.limits.aheadMax / eventBuckets));
    this.#fetchBytes = Math.max(
      fetchBytesOf(pageBytesMax, pageEventsMax()),
      eventBuckets * runBytesMin(eventBuckets),
    );
    this.#leaving = new LinkedAbort(signal);
    this.#buckets = mapBounded(
      bucketsOf(view.slices, { ...query, after }),
      () => Math.min(this.#aheadMax, 1 + this.#emptyBuckets),
      this.#leaving.signal,
      (bucket, bucketSignal) => this.#open(bucket, bucketSignal),
    );
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
    this.#opened.delete(bucket);
    await bucket.close();
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
    const opened = await this.#buckets.next();
    return opened.done === true ? undefined : opened.value;
  }

  #open(bucket: BucketRange, signal: AbortSignal): Promise<BucketReader> {
    const { deps, query, view, after, pageEventsMax } = this.#options;
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
