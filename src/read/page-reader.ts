/**
 * Reads page after page of one query on one walk over its time buckets: a page ends when it is full,
 * its time is up, or the interval is at its end, and the next one goes on right there.
 */
import { assert } from "../lib/errors.ts";
import { LinkedAbort } from "../lib/linked-abort.ts";
import { mapBounded } from "../lib/map-bounded.ts";
import type { NamespaceView } from "../model/namespace.ts";
import { timeBucketRange } from "../model/partition.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { Run } from "../wire/frames.ts";
import { BucketReader, RUN_BYTES_MIN } from "./bucket-reader.ts";
import { bucketsOf, endOfBucket } from "./buckets-of.ts";
import type { BucketRange } from "./buckets-of.ts";
import { PageBuilder } from "./page-builder.ts";
import type { PageState } from "./page-tokens.ts";
import { PartialReturn } from "./partial-return.ts";
import type { ReadDependencies } from "./read-dependencies.ts";
import type { ExplainedPartition, ReadPage } from "./read-page.ts";
import type { ReadQuery } from "./read-query.ts";

/** How a page is cut; a stream cuts differently from a single page. */
export interface PageShape {
  readonly eventsMax: number;
  readonly bytesMax: number;
}

export interface PageOutcome {
  readonly page: ReadPage;
  /** Whether this was the last page. */
  readonly ended: boolean;
  readonly partitions: readonly ExplainedPartition[];
}

/** Why a page ended. */
type Ending = "end" | "full" | "partial" | "many partitions";

/** Expected bytes of an event, for sizing the fetches: a wrong guess costs a round trip, not memory. */
const EVENT_BYTES_GUESS = 512;
const FETCH_BYTES_MIN = 64 * 1024;

export class PageReader {
  readonly #deps: ReadDependencies;
  readonly #query: ReadQuery;
  readonly #view: NamespaceView;
  readonly #state: PageState | undefined;
  readonly #shape: PageShape;
  readonly #leaving: LinkedAbort;
  readonly #buckets: AsyncGenerator<BucketReader, void, undefined>;
  readonly #fetchBytes: number;
  readonly #aheadMax: number;
  /** Every bucket that was opened and not yet closed, also those read ahead. */
  readonly #opened = new Set<BucketReader>();
  /** The bucket being read, and what of its last run did not fit on the page before. */
  #bucket: BucketReader | undefined;
  #rest: Run | undefined;
  /** What a partial page did not wait for; the next page begins with it. */
  #pending: Promise<Run | BucketReader | undefined> | undefined;
  /** Events still to be returned under the total limit; 0 for none. */
  #left: number;
  /** Read so far in the bucket at hand, by the pages before too. */
  #bucketBytes: number;
  #bucketEvents: number;
  /** Buckets without an event since the last one that had some: the more, the further ahead is read. */
  #emptyBuckets = 0;

  constructor(
    deps: ReadDependencies,
    query: ReadQuery,
    view: NamespaceView,
    state: PageState | undefined,
    shape: PageShape,
    signal: AbortSignal,
  ) {
    this.#deps = deps;
    this.#query = query;
    this.#view = view;
    this.#state = state;
    this.#shape = shape;
    this.#left = state?.left ?? query.totalLimit;
    this.#bucketBytes = state?.bucketBytes ?? 0;
    this.#bucketEvents = state?.bucketEvents ?? 0;
    const eventBuckets = Math.max(
      1,
      ...view.slices.map((slice) => slice.timePartition.eventBuckets),
    );
    // Every partition fetches something, however small its share: many of them are read one bucket at a time.
    this.#aheadMax = Math.max(1, Math.floor(deps.limits.aheadMax / eventBuckets));
    this.#fetchBytes = Math.max(
      fetchBytesOf(shape, this.#eventsMax()),
      eventBuckets * RUN_BYTES_MIN,
    );
    this.#leaving = new LinkedAbort(signal);
    this.#buckets = mapBounded(
      bucketsOf(view.slices, { ...query, after: state?.position }),
      () => Math.min(this.#aheadMax, 1 + this.#emptyBuckets),
      this.#leaving.signal,
      (bucket, bucketSignal) => this.#openBucket(bucket, bucketSignal),
    );
  }

  /** What it may hold in memory: what is being read, and what was read ahead of it. */
  get bytesHeld(): number {
    return 2 * this.#fetchBytes;
  }

  async next(): Promise<PageOutcome> {
    const { clock } = this.#deps;
    const startedMs = clock.monotonicMs();
    const maxMs = this.#view.namespace.config.slos.read.maxMs;
    using partial = new PartialReturn(clock, this.#query.allowPartial ? maxMs : undefined);
    const { bytesMax } = this.#shape;
    const builder = new PageBuilder(this.#eventsMax(), bytesMax, this.#query.filters);
    const partitions: ExplainedPartition[] = [];
    const ending = await this.#fill(builder, partitions, partial);
    if (ending !== "end" && this.#bucket !== undefined) {
      this.#note(this.#bucket, partitions, { ended: false });
    }
    return this.#outcome(ending, builder, partitions, {
      timeTakenMs: clock.monotonicMs() - startedMs,
      partialReason: ending === "partial" ? partial.reason : "",
    });
  }

  /** Ends what still runs and waits for it. Its failures come from leaving: the pages stand. */
  async close(): Promise<void> {
    this.#leaving.abort();
    await Promise.allSettled([this.#pending]);
    await Promise.allSettled([this.#buckets.return()]);
    await Promise.allSettled([...this.#opened].map((bucket) => bucket.close()));
  }

  async #fill(
    builder: PageBuilder,
    partitions: ExplainedPartition[],
    partial: PartialReturn,
  ): Promise<Ending> {
    for (;;) {
      const pending = (this.#pending ??= this.#step());
      const step = await partial.race(pending, builder.examined !== undefined);
      if (step === "time is up") return "partial";
      this.#pending = undefined;
      if (step instanceof BucketReader) this.#bucket = step;
      else if (step !== undefined) {
        this.#addRun(builder, step);
        if (builder.full) return "full";
      } else if (this.#bucket === undefined) return "end";
      else {
        await this.#endBucket(this.#bucket, builder, partitions);
        if (partitions.length >= this.#deps.limits.pagePartitionsMax) return "many partitions";
      }
    }
  }

  /** The next run of the bucket at hand, or the next bucket; undefined at the end of either. */
  async #step(): Promise<Run | BucketReader | undefined> {
    const rest = this.#rest;
    this.#rest = undefined;
    if (rest !== undefined) return rest;
    if (this.#bucket !== undefined) return this.#bucket.next();
    const opened = await this.#buckets.next();
    return opened.done === true ? undefined : opened.value;
  }

  #addRun(builder: PageBuilder, run: Run): void {
    const { examinedBytes, examinedEvents } = builder;
    this.#rest = builder.add(run);
    this.#bucketBytes += builder.examinedBytes - examinedBytes;
    this.#bucketEvents += builder.examinedEvents - examinedEvents;
  }

  async #endBucket(
    bucket: BucketReader,
    builder: PageBuilder,
    partitions: ExplainedPartition[],
  ): Promise<void> {
    this.#note(bucket, partitions, { ended: true });
    builder.examined = endOfBucket(bucket.bucket, this.#query.order);
    this.#emptyBuckets = this.#bucketEvents === 0 ? this.#emptyBuckets + 1 : 0;
    this.#bucketBytes = 0;
    this.#bucketEvents = 0;
    this.#bucket = undefined;
    this.#opened.delete(bucket);
    await bucket.close();
  }

  #openBucket(bucket: BucketRange, signal: AbortSignal): Promise<BucketReader> {
    const { store, clock, limits } = this.#deps;
    const { slos, consistency } = this.#view.namespace.config;
    // Buckets read ahead share one more fetch between them.
    const share = this.#emptyBuckets === 0 ? 1 : this.#aheadMax;
    const range = {
      from: bucket.from,
      to: bucket.to,
      order: this.#query.order,
      after: this.#state?.position,
      // A filter may leave out most of them: then the bytes alone bound a fetch.
      runEventsMax: this.#query.filters.length === 0 ? this.#eventsMax() : limits.pageEventsMax,
      runBytesMax: Math.ceil(this.#fetchBytes / share),
      level: { ...slos.read, consistency },
    };
    const partitions = partitionsOf(this.#query.seriesId, this.#view, bucket);
    const reader = new BucketReader(store, clock, bucket, partitions, range, signal);
    this.#opened.add(reader);
    return reader.open();
  }

  /** Tells who watches for width, and keeps what `explain` shows. */
  #note(
    bucket: BucketReader,
    partitions: ExplainedPartition[],
    { ended }: { ended: boolean },
  ): void {
    const { router, onPartitionRead } = this.#deps;
    const count = bucket.readers.length;
    const { start, end } = timeBucketRange(bucket.bucket.slice, bucket.bucket.timeBucket);
    const whole = ended && this.#query.start <= start && this.#query.end >= end;
    for (const { partition, bytes, events, millis } of bucket.readers) {
      const { timeBucket, eventBucket } = partition;
      const place = { timeSlice: partition.slice, timeBucket, eventBucket };
      partitions.push({
        ...place,
        ...router(partition),
        parts: 0,
        bytes,
        events,
        millis,
        read: true,
      });
      onPartitionRead?.({
        view: this.#view,
        partition,
        // Partitions that were merged are known together: hashing spread the events evenly over them.
        bytes: Math.round(this.#bucketBytes / count),
        events: Math.round(this.#bucketEvents / count),
        whole,
      });
    }
  }

  #outcome(
    ending: Ending,
    builder: PageBuilder,
    partitions: readonly ExplainedPartition[],
    told: { timeTakenMs: number; partialReason: string },
  ): PageOutcome {
    const { clock, tokens } = this.#deps;
    const limited = this.#left > 0;
    if (limited) this.#left -= builder.count;
    const ended = ending === "end" || (limited && this.#left === 0);
    const next = ended ? undefined : this.#nextState(builder);
    const nextPageToken =
      next === undefined
        ? ""
        : tokens.encode(this.#query, this.#view.namespace.id, next, clock.nowMicros());
    const context = {
      namespace: this.#query.namespace,
      partitionsRead: partitions.length,
      splitPartitionsRead: 0,
      bytesRead: builder.examinedBytes,
      partial: ending === "partial",
      ...told,
    };
    const page = { chunks: builder.chunks, count: builder.count, nextPageToken, context };
    return { page, ended, partitions };
  }

  #nextState(builder: PageBuilder): PageState {
    const position = builder.examined;
    assert(position !== undefined, "a page that is not the last has moved on");
    const [bucketBytes, bucketEvents] = [this.#bucketBytes, this.#bucketEvents];
    return { position, left: this.#left, bucketBytes, bucketEvents };
  }

  #eventsMax(): number {
    const { eventsMax } = this.#shape;
    return this.#left === 0 ? eventsMax : Math.min(eventsMax, this.#left);
  }
}

function fetchBytesOf(shape: PageShape, eventsMax: number): number {
  return Math.min(shape.bytesMax, Math.max(FETCH_BYTES_MIN, eventsMax * EVENT_BYTES_GUESS));
}

/** The partitions of one time bucket of a time series. */
export function partitionsOf(
  seriesId: string,
  view: NamespaceView,
  bucket: BucketRange,
): PartitionKey[] {
  const { slice, timeBucket } = bucket;
  return Array.from({ length: slice.timePartition.eventBuckets }, (_, eventBucket) => ({
    namespaceId: view.namespace.id,
    slice: slice.name,
    seriesId,
    timeBucket,
    eventBucket,
  }));
}
