/**
 * Reads an interval of one time series, as a page, as a stream of pages, or as an explanation.
 *
 * A page is bounded in events, bytes, partitions and time, always makes progress, and ends with a
 * token that goes on exactly behind the last position examined.
 */
import { ServiceError } from "../lib/errors.ts";
import { blockedMessage, blockOf } from "../model/namespace.ts";
import type { NamespaceView } from "../model/namespace.ts";
import { bucketsOf, countBuckets } from "./buckets-of.ts";
import { PageRead, partitionsOf } from "./page-read.ts";
import type { PageOutcome, PageShape } from "./page-read.ts";
import type { PageState } from "./page-tokens.ts";
import type { ReadDependencies } from "./read-dependencies.ts";
import type { ExplainedPartition, ReadExplanation, ReadPage } from "./read-page.ts";
import { queryProblems } from "./read-query.ts";
import type { ReadQuery } from "./read-query.ts";

/** An explanation is for people: beyond this many partitions it only counts. */
const EXPLAINED_PARTITIONS_MAX = 1_000;

export class EventReader {
  readonly #deps: ReadDependencies;

  constructor(deps: ReadDependencies) {
    this.#deps = deps;
  }

  async readPage(query: ReadQuery, signal: AbortSignal): Promise<ReadPage> {
    const { page } = await this.#readFirst(query, this.#pageShape(query), signal);
    return page;
  }

  /** Page after page to the end; the next one is read while the caller works on this one. */
  async *stream(query: ReadQuery, signal: AbortSignal): AsyncGenerator<ReadPage, void, undefined> {
    const leaving = new AbortController();
    const inner = AbortSignal.any([signal, leaving.signal]);
    const shape = this.#streamShape(query);
    let pending = this.#readFirst(query, shape, inner);
    try {
      for (;;) {
        const { page, next } = await pending;
        if (next !== undefined) {
          pending = this.#readNext(query, next, shape, inner);
          // It is awaited in the next turn, or left with the caller: until then a failure is not unhandled.
          pending.catch(() => undefined);
        }
        yield page;
        if (next === undefined) return;
      }
    } finally {
      leaving.abort();
      await pending.catch(() => undefined);
    }
  }

  /** Reads one page and tells how, instead of what it found. */
  async explain(query: ReadQuery, signal: AbortSignal): Promise<ReadExplanation> {
    const { page, partitions } = await this.#readFirst(query, this.#pageShape(query), signal);
    const view = await this.#admit(query);
    const slices = view.slices
      .map((slice) => ({ slice, timeBuckets: countBuckets(slice, query.start, query.end) }))
      .filter(({ timeBuckets }) => timeBuckets > 0);
    return {
      slices: slices.map(({ slice, timeBuckets }) => ({ timeSlice: slice.name, timeBuckets })),
      partitions: this.#withUnread(query, view, partitions),
      totals: {
        partitions: slices.reduce(
          (sum, { slice, timeBuckets }) => sum + timeBuckets * slice.timePartition.eventBuckets,
          0,
        ),
        partitionsRead: page.context.partitionsRead,
        bytes: page.context.bytesRead,
        events: partitions.reduce((sum, partition) => sum + partition.events, 0),
        eventsReturned: page.count,
        millis: page.context.timeTakenMs,
      },
    };
  }

  async #readFirst(query: ReadQuery, shape: PageShape, signal: AbortSignal): Promise<PageOutcome> {
    const { clock, tokens } = this.#deps;
    const view = await this.#admit(query);
    const state =
      query.pageToken === ""
        ? undefined
        : tokens.decode(query, view.namespace.id, clock.nowMicros());
    return new PageRead(this.#deps, query, view, state, shape).run(signal);
  }

  async #readNext(
    query: ReadQuery,
    state: PageState,
    shape: PageShape,
    signal: AbortSignal,
  ): Promise<PageOutcome> {
    const view = await this.#admit(query);
    return new PageRead(this.#deps, query, view, state, shape).run(signal);
  }

  /** Every page is let in anew: an id may be blocked, or the namespace deleted, between two of them. */
  async #admit(query: ReadQuery): Promise<NamespaceView> {
    const { views, clock, limits } = this.#deps;
    const problems = queryProblems(query, limits);
    if (problems.length > 0) {
      throw new ServiceError("REQUEST_INVALID", problems.join("; "), { details: { problems } });
    }
    const view = views.current(query.namespace) ?? (await views.get(query.namespace));
    const block = blockOf(view, query.seriesId, clock.nowMicros());
    if (block !== undefined) throw new ServiceError("ID_BLOCKED", blockedMessage(block));
    return view;
  }

  #pageShape(query: ReadQuery): PageShape {
    const { pageSizeDefault, pageBytesMax } = this.#deps.limits;
    return {
      eventsMax: query.pageSize === 0 ? pageSizeDefault : query.pageSize,
      bytesMax: pageBytesMax,
    };
  }

  #streamShape(query: ReadQuery): PageShape {
    const { pageEventsMax, streamPageBytes } = this.#deps.limits;
    return {
      eventsMax: query.pageSize === 0 ? pageEventsMax : query.pageSize,
      bytesMax: streamPageBytes,
    };
  }

  /** The partitions that were read, then those that were not reached. */
  #withUnread(
    query: ReadQuery,
    view: NamespaceView,
    read: readonly ExplainedPartition[],
  ): ExplainedPartition[] {
    const rows = read.slice(0, EXPLAINED_PARTITIONS_MAX);
    const seen = new Set(read.map((row) => `${row.timeSlice}/${row.timeBucket}`));
    for (const bucket of bucketsOf(view.slices, { ...query, after: undefined })) {
      if (seen.has(`${bucket.slice.name}/${bucket.timeBucket}`)) continue;
      for (const partition of partitionsOf(query.seriesId, view, bucket)) {
        if (rows.length >= EXPLAINED_PARTITIONS_MAX) return rows;
        const { timeBucket, eventBucket } = partition;
        const place = { timeSlice: partition.slice, timeBucket, eventBucket };
        const nothing = { parts: 0, bytes: 0, events: 0, millis: 0, read: false };
        rows.push({ ...place, ...this.#deps.router(partition), ...nothing });
      }
    }
    return rows;
  }
}
