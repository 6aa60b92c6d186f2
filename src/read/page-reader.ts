/**
 * Reads page after page of one query on one walk over its time buckets: a page ends when it is full,
 * its time is up, or the interval is at its end, and the next one goes on right there.
 */
import { assert } from "../lib/errors.ts";
import { LinkedAbort } from "../lib/linked-abort.ts";
import { mapBounded } from "../lib/map-bounded.ts";
import type { NamespaceView } from "../model/namespace.ts";
import { eventBucketsOf, timeBucketRange } from "../model/partition.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { Run } from "../wire/frames.ts";
import { BucketReader, runBytesMin } from "./bucket-reader.ts";
import { bucketsOf, endOfBucket, eventBucketsMax } from "./buckets-of.ts";
import type { BucketRange } from "./buckets-of.ts";
import { PageBuilder } from "./page-builder.ts";
import type { PageCut } from "./page-builder.ts";
import type { PageState } from "./page-tokens.ts";
import { PartialReturn } from "./partial-return.ts";
import type { ReadDependencies } from "./read-dependencies.ts";
import type { ExplainedPartition, ReadPage } from "./read-page.ts";
import type { ReadQuery } from "./read-query.ts";
import { partOf, readsSplit, widthShares } from "./width-shares.ts";
import type { Width } from "./width-shares.ts";

/** How a page is cut; a stream cuts differently from a single page. */
export interface PageShape {
  readonly eventsMax: number;
  readonly bytesMax: number;
  /** EVENT fills it to the last event; RUN ends it before a run that does not fit whole, which saves looking at the events of that run. */
  readonly cutAt: PageCut;
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
  /** Read of the originals so far in the bucket at hand by the pages before this reader. */
  #beforeBytes: number;
  #beforeEvents: number;
  /** Examined so far in the bucket at hand by this reader. */
  #bucketBytes = 0;
  #bucketEvents = 0;
  /** Of the page being read. */
  #wide = false;
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
    this.#beforeBytes = state?.bucketBytes ?? 0;
    this.#beforeEvents = state?.bucketEvents ?? 0;
    const steps = view.idStrategies.get(query.seriesId);
    const eventBuckets = eventBucketsMax(view.slices, query, steps);
    // Every partition fetches something, however small its share: many of them are read one bucket at a time.
    this.#aheadMax = Math.max(1, Math.floor(deps.limits.aheadMax / eventBuckets));
    this.#fetchBytes = Math.max(
      fetchBytesOf(shape, this.#eventsMax()),
      eventBuckets * runBytesMin(eventBuckets),
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
    const { bytesMax, cutAt } = this.#shape;
    const builder = new PageBuilder(this.#eventsMax(), bytesMax, this.#query.filters, cutAt);
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
    const empty = this.#bucketEvents === 0 && this.#beforeEvents === 0;
    this.#emptyBuckets = empty ? this.#emptyBuckets + 1 : 0;
    [this.#beforeBytes, this.#beforeEvents] = [0, 0];
    [this.#bucketBytes, this.#bucketEvents] = [0, 0];
    this.#bucket = undefined;
    this.#opened.delete(bucket);
    await bucket.close();
  }

  #openBucket(bucket: BucketRange, signal: AbortSignal): Promise<BucketReader> {
    const { opener, limits } = this.#deps;
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
    const reader = new BucketReader(opener, this.#view, bucket, partitions, range, signal);
    this.#opened.add(reader);
    return reader.open();
  }

  /** Tells who watches for width, and keeps what `explain` shows. */
  #note(
    bucket: BucketReader,
    partitions: ExplainedPartition[],
    { ended }: { ended: boolean },
  ): void {
    const { onPartitionRead } = this.#deps;
    const before = { bytes: this.#beforeBytes, events: this.#beforeEvents };
    const shares = widthShares(bucket.sources, before, this.#examinedOf(bucket));
    const { start, end } = timeBucketRange(bucket.bucket.slice, bucket.bucket.timeBucket);
    const toTheEnd = ended && this.#query.start <= start && this.#query.end >= end;
    const { bytesMax, eventsMax } = this.#view.namespace.config.widePartition;
    for (const [nth, source] of bucket.sources.entries()) {
      const width = shares[nth] ?? NOTHING;
      const { partition, bytes, events, millis, route } = source;
      // What a split covers was wide, and is so for whoever reads it from the original all the same.
      const covered = source.originalBytes < bytes && !readsSplit(route.route);
      if (covered || width.bytes > bytesMax || width.events > eventsMax) this.#wide = true;
      const { timeBucket, eventBucket } = partition;
      const place = { timeSlice: partition.slice, timeBucket, eventBucket };
      partitions.push({ ...place, ...route, bytes, events, millis, read: true });
      onPartitionRead?.({
        view: this.#view,
        partition,
        route: route.route,
        ...width,
        whole: toTheEnd && source.originalBytes === bytes,
      });
    }
  }

  /**
   * What this reader has examined of the bucket's originals. Sources hand on what a page may not have room
   * for: what was examined came from originals and splits as what they handed on did.
   */
  #examinedOf(bucket: BucketReader): Width {
    return {
      bytes: Math.round(partOf(this.#bucketBytes, bucket.originalBytes, bucket.bytes)),
      events: Math.round(partOf(this.#bucketEvents, bucket.originalEvents, bucket.events)),
    };
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
      splitPartitionsRead: partitions.filter(({ route }) => readsSplit(route)).length,
      bytesRead: builder.examinedBytes,
      partial: ending === "partial",
      ...told,
    };
    const { chunks, count } = builder;
    const page = { chunks, count, nextPageToken, wide: this.#wide, context };
    this.#wide = false;
    return { page, ended, partitions };
  }

  #nextState(builder: PageBuilder): PageState {
    const position = builder.examined;
    assert(position !== undefined, "a page that is not the last has moved on");
    // Between two buckets there is nothing to go on with.
    if (this.#bucket === undefined) {
      return { position, left: this.#left, bucketBytes: 0, bucketEvents: 0 };
    }
    const { bytes, events } = this.#examinedOf(this.#bucket);
    const bucketBytes = this.#beforeBytes + bytes;
    return { position, left: this.#left, bucketBytes, bucketEvents: this.#beforeEvents + events };
  }

  #eventsMax(): number {
    const { eventsMax } = this.#shape;
    return this.#left === 0 ? eventsMax : Math.min(eventsMax, this.#left);
  }
}

const NOTHING: Width = { bytes: 0, events: 0 };

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
  const eventBuckets = eventBucketsOf(slice, timeBucket, view.idStrategies.get(seriesId));
  return Array.from({ length: eventBuckets }, (_, eventBucket) => ({
    namespaceId: view.namespace.id,
    slice: slice.name,
    seriesId,
    timeBucket,
    eventBucket,
  }));
}
