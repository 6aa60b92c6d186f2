/**
 * One page, read: walks the time buckets in order until the page is full, its time is up, or the
 * interval is at its end.
 */
import { ServiceError } from "../lib/errors.ts";
import { mapBounded } from "../lib/map-bounded.ts";
import type { NamespaceView } from "../model/namespace.ts";
import type { PartitionKey } from "../model/partition.ts";
import { BucketReader } from "./bucket-reader.ts";
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
  /** Where the next page goes on; undefined at the end. */
  readonly next: PageState | undefined;
  readonly partitions: readonly ExplainedPartition[];
}

/** Why a page ended. */
type Ending = "end" | "full" | "partial" | "many partitions";

/** Expected bytes of an event, for sizing the fetches: a wrong guess costs a round trip, not memory. */
const EVENT_BYTES_GUESS = 512;
const FETCH_BYTES_MIN = 64 * 1024;

export class PageRead {
  readonly #deps: ReadDependencies;
  readonly #query: ReadQuery;
  readonly #view: NamespaceView;
  readonly #state: PageState | undefined;
  readonly #left: number;
  readonly #eventsMax: number;
  readonly #fetchBytes: number;
  readonly #builder: PageBuilder;
  readonly #partitions: ExplainedPartition[] = [];
  /** Buckets without an event since the last one that had some: the more, the further ahead is read. */
  #emptyBuckets = 0;
  /** Read so far in the bucket at hand, by the pages before too. */
  #bucketBytes: number;
  #bucketEvents: number;
  #timeIsUp = false;
  readonly #leaving: Promise<unknown>[] = [];

  constructor(
    deps: ReadDependencies,
    query: ReadQuery,
    view: NamespaceView,
    state: PageState | undefined,
    shape: PageShape,
  ) {
    this.#deps = deps;
    this.#query = query;
    this.#view = view;
    this.#state = state;
    this.#left = state?.left ?? query.totalLimit;
    this.#eventsMax = this.#left === 0 ? shape.eventsMax : Math.min(shape.eventsMax, this.#left);
    this.#fetchBytes = Math.min(
      shape.bytesMax,
      Math.max(FETCH_BYTES_MIN, this.#eventsMax * EVENT_BYTES_GUESS),
    );
    this.#builder = new PageBuilder(this.#eventsMax, shape.bytesMax, query.filters);
    this.#bucketBytes = state?.bucketBytes ?? 0;
    this.#bucketEvents = state?.bucketEvents ?? 0;
  }

  async run(signal: AbortSignal): Promise<PageOutcome> {
    const { clock, budget } = this.#deps;
    const startedMs = clock.monotonicMs();
    // Twice: for what is being read, and for what was read ahead of it.
    const reserved = 2 * this.#fetchBytes;
    await budget.take(reserved, signal);
    try {
      const maxMs = this.#view.namespace.config.slos.read.maxMs;
      using partial = new PartialReturn(clock, this.#query.allowPartial ? maxMs : undefined);
      const ending = await this.#walk(partial, signal);
      return this.#finish(ending, ending === "partial" ? partial.reason : "", startedMs);
    } catch (error) {
      // Whatever a part made of the abort, the caller is told the reason for it.
      signal.throwIfAborted();
      throw error;
    } finally {
      // What was left behind may still hold memory.
      void Promise.allSettled(this.#leaving).then(() => budget.give(reserved));
    }
  }

  async #walk(partial: PartialReturn, signal: AbortSignal): Promise<Ending> {
    const { limits } = this.#deps;
    const stop = new AbortController();
    const inner = AbortSignal.any([signal, stop.signal]);
    const readers = mapBounded(
      bucketsOf(this.#view.slices, { ...this.#query, after: this.#state?.position }),
      () => Math.min(limits.aheadMax, 1 + this.#emptyBuckets),
      inner,
      (bucket, bucketSignal) => this.#openBucket(bucket, bucketSignal),
    );
    try {
      for (;;) {
        const opened = await partial.race(readers.next(), this.#progressed());
        if (opened === "time is up") return this.#endPartial();
        if (opened.done === true) return "end";
        const ending = await this.#readBucket(opened.value, partial, stop);
        if (ending !== "end") return ending;
        if (this.#partitions.length >= limits.pagePartitionsMax) return "many partitions";
      }
    } finally {
      stop.abort();
      await this.#leave(readers.return());
    }
  }

  #openBucket(bucket: BucketRange, signal: AbortSignal): Promise<BucketReader> {
    const { store, clock, limits } = this.#deps;
    // Buckets read ahead share one more fetch between them.
    const share = this.#emptyBuckets === 0 ? 1 : limits.aheadMax;
    const range = {
      from: bucket.from,
      to: bucket.to,
      order: this.#query.order,
      after: this.#state?.position,
      runEventsMax: this.#eventsMax,
      runBytesMax: Math.ceil(this.#fetchBytes / share),
    };
    const reader = new BucketReader(store, clock, bucket, this.#keys(bucket), range, signal);
    return reader.open();
  }

  async #readBucket(
    reader: BucketReader,
    partial: PartialReturn,
    stop: AbortController,
  ): Promise<Ending> {
    const builder = this.#builder;
    const bytesBefore = builder.examinedBytes - this.#bucketBytes;
    const eventsBefore = builder.examinedEvents - this.#bucketEvents;
    let ending: Ending = "end";
    try {
      while (ending === "end") {
        const run = await partial.race(reader.next(), this.#progressed());
        if (run === undefined) break;
        if (run === "time is up") ending = this.#endPartial();
        else {
          builder.add(run);
          if (builder.full) ending = "full";
        }
      }
    } finally {
      if (ending === "partial") stop.abort();
      await this.#leave(reader.close());
    }
    this.#bucketBytes = builder.examinedBytes - bytesBefore;
    this.#bucketEvents = builder.examinedEvents - eventsBefore;
    this.#note(reader);
    if (ending === "end") {
      builder.examined = endOfBucket(reader.bucket, this.#query.order);
      this.#emptyBuckets = this.#bucketEvents === 0 ? this.#emptyBuckets + 1 : 0;
      this.#bucketBytes = 0;
      this.#bucketEvents = 0;
    }
    return ending;
  }

  /** Tells who watches for width, and keeps what `explain` shows. */
  #note(reader: BucketReader): void {
    const { router, onPartitionRead } = this.#deps;
    const carried = this.#state !== undefined && this.#partitions.length === 0;
    const count = reader.readers.length;
    for (const { partition, bytes, events, millis } of reader.readers) {
      const { timeBucket, eventBucket } = partition;
      const timeSlice = partition.slice;
      const routed = router(partition);
      const row = { timeSlice, timeBucket, eventBucket, ...routed, parts: 0, read: true };
      this.#partitions.push({ ...row, bytes, events, millis });
      // Of several partitions merged, those of the pages before are known together: hashing spread them evenly.
      const alone = count === 1;
      const bytesBefore = carried ? (this.#state?.bucketBytes ?? 0) / count : 0;
      const eventsBefore = carried ? (this.#state?.bucketEvents ?? 0) / count : 0;
      onPartitionRead?.({
        namespace: this.#query.namespace,
        partition,
        bytes: alone ? this.#bucketBytes : bytes + Math.round(bytesBefore),
        events: alone ? this.#bucketEvents : events + Math.round(eventsBefore),
      });
    }
  }

  #finish(ending: Ending, partialReason: string, startedMs: number): PageOutcome {
    const { clock, tokens } = this.#deps;
    const builder = this.#builder;
    const left = this.#left === 0 ? 0 : this.#left - builder.count;
    const next = this.#nextState(ending, left);
    const nextPageToken =
      next === undefined
        ? ""
        : tokens.encode(this.#query, this.#view.namespace.id, next, clock.nowMicros());
    const context = {
      namespace: this.#query.namespace,
      timeTakenMs: clock.monotonicMs() - startedMs,
      partitionsRead: this.#partitions.length,
      splitPartitionsRead: 0,
      bytesRead: builder.examinedBytes,
      partial: ending === "partial",
      partialReason,
    };
    const page = { chunks: builder.chunks, count: builder.count, nextPageToken, context };
    return { page, next, partitions: this.#partitions };
  }

  #nextState(ending: Ending, left: number): PageState | undefined {
    const limitReached = this.#left > 0 && left === 0;
    if (ending === "end" || limitReached) return undefined;
    const position = this.#builder.examined;
    if (position === undefined) {
      throw new ServiceError("INTERNAL", "a page ended without having moved on");
    }
    return { position, left, bucketBytes: this.#bucketBytes, bucketEvents: this.#bucketEvents };
  }

  #endPartial(): "partial" {
    this.#timeIsUp = true;
    return "partial";
  }

  /** Waits for what is being left to end, unless the caller's time is up. Its failure comes from leaving, and the page stands. */
  async #leave(left: Promise<unknown>): Promise<void> {
    const settled = left.catch(() => undefined);
    if (this.#timeIsUp) this.#leaving.push(settled);
    else await settled;
  }

  #progressed(): boolean {
    return this.#builder.examined !== undefined;
  }

  #keys(bucket: BucketRange): PartitionKey[] {
    return partitionsOf(this.#query.seriesId, this.#view, bucket);
  }
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
