/**
 * Reads an interval of one time series, as a page, as a stream of pages, or as an explanation.
 *
 * A page is bounded in events, bytes, partitions and time, always makes progress, and ends with a
 * token that goes on exactly behind the last position examined.
 */
import { ServiceError } from "../lib/errors.ts";
import { mapBounded } from "../lib/map-bounded.ts";
import { blockedMessage, blockOf } from "../model/namespace.ts";
import type { NamespaceView } from "../model/namespace.ts";
import type { PartitionKey } from "../model/partition.ts";
import { bucketsOf, countBuckets, countPartitions } from "./buckets-of.ts";
import { mayMissSlice } from "./may-miss-slice.ts";
import { PageReader, partitionsOf } from "./page-reader.ts";
import type { PageOutcome, PageShape } from "./page-reader.ts";
import type { ReadDependencies } from "./read-dependencies.ts";
import type { ExplainedPartition, ReadExplanation, ReadPage } from "./read-page.ts";
import { queryProblems } from "./read-query.ts";
import type { ReadQuery } from "./read-query.ts";

/** An explanation is for people: beyond this many partitions it only counts. */
const EXPLAINED_PARTITIONS_MAX = 1_000;
const EXPLAINED_AT_ONCE = 8;

export class EventReader {
  readonly #deps: ReadDependencies;

  constructor(deps: ReadDependencies) {
    this.#deps = deps;
  }

  async readPage(query: ReadQuery, signal: AbortSignal): Promise<ReadPage> {
    return (await this.#readOne(query, signal)).page;
  }

  /** Page after page to the end; the next one is read while the caller works on this one. */
  async *stream(query: ReadQuery, signal: AbortSignal): AsyncGenerator<ReadPage, void, undefined> {
    const pages = await this.#open(query, this.#streamShape(query), signal);
    const { streamBudget } = this.#deps;
    await streamBudget.take(pages.bytesHeld, signal);
    try {
      let pending = pages.next();
      for (;;) {
        const { page, ended } = await this.#orReason(pending, signal);
        if (!ended) {
          pending = pages.next();
          // It is awaited in the next turn, or left with the caller: until then a failure is not unhandled.
          pending.catch(() => undefined);
        }
        yield page;
        if (ended) return;
        // Between two pages an id may be blocked, or the namespace deleted.
        await this.#admit(query);
      }
    } finally {
      await pages.close();
      streamBudget.give(pages.bytesHeld);
    }
  }

  /** Reads one page and tells how, instead of what it found. */
  async explain(query: ReadQuery, signal: AbortSignal): Promise<ReadExplanation> {
    const { page, partitions } = await this.#readOne(query, signal);
    const view = await this.#admit(query);
    const { start, end } = query;
    const steps = view.idStrategies.get(query.seriesId);
    const slices = view.slices
      .map((slice) => ({ slice, timeBuckets: countBuckets(slice, start, end) }))
      .filter(({ timeBuckets }) => timeBuckets > 0);
    return {
      slices: slices.map(({ slice, timeBuckets }) => ({ timeSlice: slice.name, timeBuckets })),
      partitions: await this.#withUnread(query, view, partitions, signal),
      totals: {
        partitions: slices.reduce(
          (sum, { slice }) => sum + countPartitions(slice, start, end, steps),
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

  async #readOne(query: ReadQuery, signal: AbortSignal): Promise<PageOutcome> {
    const { budget } = this.#deps;
    const pages = await this.#open(query, this.#pageShape(query), signal);
    await budget.take(pages.bytesHeld, signal);
    let outcome: PageOutcome | undefined;
    try {
      outcome = await this.#orReason(pages.next(), signal);
      return outcome;
    } finally {
      const closed = pages.close().then(() => budget.give(pages.bytesHeld));
      // A partial answer does not wait for the storage that made it partial.
      if (outcome?.page.context.partial !== true) await closed;
    }
  }

  async #open(query: ReadQuery, shape: PageShape, signal: AbortSignal): Promise<PageReader> {
    const { clock, tokens } = this.#deps;
    const view = await this.#admit(query);
    const state =
      query.pageToken === ""
        ? undefined
        : tokens.decode(query, view.namespace.id, clock.nowMicros());
    return new PageReader(this.#deps, query, view, state, shape, signal);
  }

  /** Whatever a part made of an abort, the caller is told the reason for it. */
  async #orReason<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await work;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }

  async #admit(query: ReadQuery): Promise<NamespaceView> {
    const { views, clock, limits, others } = this.#deps;
    const problems = queryProblems(query, limits);
    if (problems.length > 0) {
      throw new ServiceError("REQUEST_INVALID", problems.join("; "), { details: { problems } });
    }
    let view = views.current(query.namespace) ?? (await views.get(query.namespace));
    const now = clock.nowMicros();
    if (others !== undefined && mayMissSlice(view, query, now, others.clockSkewMicros)) {
      await others.refreshView(query.namespace);
      view = await views.get(query.namespace);
    }
    const block = blockOf(view, query.seriesId, clock.nowMicros());
    if (block !== undefined) throw new ServiceError("ID_BLOCKED", blockedMessage(block));
    return view;
  }

  #pageShape(query: ReadQuery): PageShape {
    const { pageSizeDefault, pageBytesMax } = this.#deps.limits;
    return {
      eventsMax: query.pageSize === 0 ? pageSizeDefault : query.pageSize,
      bytesMax: pageBytesMax,
      cutAt: "EVENT",
    };
  }

  #streamShape(query: ReadQuery): PageShape {
    const { pageEventsMax, streamPageBytes } = this.#deps.limits;
    return {
      eventsMax: query.pageSize === 0 ? pageEventsMax : query.pageSize,
      bytesMax: streamPageBytes,
      // Nobody counts the events of a page of a stream, unless a caller asked for so many.
      cutAt: query.pageSize === 0 ? "RUN" : "EVENT",
    };
  }

  /** The partitions that were read, then those that were not reached. */
  async #withUnread(
    query: ReadQuery,
    view: NamespaceView,
    read: readonly ExplainedPartition[],
    signal: AbortSignal,
  ): Promise<ExplainedPartition[]> {
    const rows = read.slice(0, EXPLAINED_PARTITIONS_MAX);
    const unread = unreadPartitions(query, view, read, EXPLAINED_PARTITIONS_MAX - rows.length);
    const explainOne = async (partition: PartitionKey): Promise<ExplainedPartition> => {
      const route = await this.#deps.opener.explain(view, partition);
      const { timeBucket, eventBucket } = partition;
      const place = { timeSlice: partition.slice, timeBucket, eventBucket };
      return { ...place, ...route, bytes: 0, events: 0, millis: 0, read: false };
    };
    for await (const row of mapBounded(unread, () => EXPLAINED_AT_ONCE, signal, explainOne)) {
      rows.push(row);
    }
    return rows;
  }
}

function* unreadPartitions(
  query: ReadQuery,
  view: NamespaceView,
  read: readonly ExplainedPartition[],
  max: number,
): Generator<PartitionKey, void, undefined> {
  const seen = new Set(read.map((row) => `${row.timeSlice}/${row.timeBucket}`));
  let left = max;
  for (const bucket of bucketsOf(view.slices, { ...query, after: undefined })) {
    if (seen.has(`${bucket.slice.name}/${bucket.timeBucket}`)) continue;
    for (const partition of partitionsOf(query.seriesId, view, bucket)) {
      if (left-- <= 0) return;
      yield partition;
    }
  }
}
