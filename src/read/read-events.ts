/**
 * Reads an interval of one time series, as a page, as a stream of pages, or as an explanation.
 *
 * A page is bounded in events, bytes, partitions and time, always makes progress, and ends with a
 * token that continues exactly behind the last position examined.
 *
 * A read belongs to one namespace by its internal id. If the namespace is deleted during the read,
 * the read fails, also if another namespace has the name by then: its tables may be gone, and what
 * is missing from them would look like the end.
 */
import type { ByteBudget } from "../lib/byte-budget.ts";
import { ServiceError } from "../lib/errors.ts";
import { mapBounded } from "../lib/map-bounded.ts";
import { Problems } from "../lib/problems.ts";
import { blockedMessage, blockOf } from "../model/namespace.ts";
import type { NamespaceView } from "../model/namespace.ts";
import { NOT_SPLIT } from "../partition/partition-reader.ts";
import type { RouteName } from "../partition/partition-source.ts";
import { bucketsOf, countBuckets, countPartitions } from "./buckets-of.ts";
import { bucketText, EXPLAINED_PARTITIONS_MAX, ExplainedRead } from "./explained-read.ts";
import { FanOuts } from "./fan-outs.ts";
import { mayMissSlice } from "./may-miss-slice.ts";
import { PageReader } from "./page-reader.ts";
import type { PageOutcome, PageShape } from "./page-reader.ts";
import { partitionsOf } from "./partitions-of.ts";
import type { ReadDependencies } from "./read-dependencies.ts";
import type { ExplainedPartition, ReadExplanation, ReadPage } from "./read-page.ts";
import { checkQuery } from "./read-query.ts";
import type { ReadQuery } from "./read-query.ts";

const EXPLAINED_AT_ONCE = 8;

export class EventReader {
  readonly #deps: ReadDependencies;
  readonly #fanOuts: FanOuts;

  constructor(deps: ReadDependencies) {
    this.#deps = deps;
    this.#fanOuts = new FanOuts(deps.limits.fanOutMax);
  }

  async readPage(query: ReadQuery, signal: AbortSignal): Promise<ReadPage> {
    return (await this.#readOne(query, signal)).page;
  }

  /** Page after page to the end; the next one is read while the caller processes this one. */
  async *stream(query: ReadQuery, signal: AbortSignal): AsyncGenerator<ReadPage, void, undefined> {
    const { streamBudget } = this.#deps;
    const pages = await this.#open(query, this.#streamShape(query), streamBudget, signal);
    await streamBudget.take(pages.bytesHeld, signal);
    try {
      let pending = pages.next();
      for (;;) {
        const { page, ended } = await this.#orReason(pending, signal);
        // Since the page before, an id may be blocked, or the namespace deleted.
        requireSameNamespace(await this.#admit(query), pages.namespaceId);
        if (!ended) {
          pending = pages.next();
          // The next iteration awaits it, or the caller has left: until then a failure must not
          // count as unhandled.
          pending.catch(() => undefined);
        }
        yield page;
        if (ended) return;
      }
    } finally {
      await pages.close();
      streamBudget.give(pages.bytesHeld);
      this.#learn(query.namespace, pages);
    }
  }

  /**
   * Reads one page and reports how, instead of its events. With a total limit and no page size it
   * reads page after page up to that limit.
   */
  async explain(query: ReadQuery, signal: AbortSignal): Promise<ReadExplanation> {
    const { explained, namespaceId } = await this.#readToExplain(query, signal);
    const view = await this.#admit(query);
    requireSameNamespace(view, namespaceId);
    const { start, end } = query;
    const steps = view.idStrategies.get(query.seriesId);
    const slices = view.slices
      .map((slice) => ({ slice, timeBuckets: countBuckets(slice, start, end) }))
      .filter(({ timeBuckets }) => timeBuckets > 0);
    return {
      slices: slices.map(({ slice, timeBuckets }) => ({ timeSlice: slice.name, timeBuckets })),
      partitions: await this.#explainRows(query, view, explained.rows, signal),
      totals: {
        partitions: slices.reduce(
          (sum, { slice }) => sum + countPartitions(slice, start, end, steps),
          0,
        ),
        ...explained.totals,
      },
    };
  }

  async #readOne(query: ReadQuery, signal: AbortSignal): Promise<PageOutcome> {
    const { budget } = this.#deps;
    const pages = await this.#open(query, this.#pageShape(query), budget, signal);
    await budget.take(pages.bytesHeld, signal);
    let outcome: PageOutcome | undefined;
    try {
      outcome = await this.#orReason(pages.next(), signal);
      requireSameNamespace(await this.#view(query.namespace), pages.namespaceId);
      return outcome;
    } finally {
      await this.#close(query.namespace, pages, outcome);
    }
  }

  async #readToExplain(
    query: ReadQuery,
    signal: AbortSignal,
  ): Promise<{ explained: ExplainedRead; namespaceId: string }> {
    const { budget, limits } = this.#deps;
    const whole = query.totalLimit > 0 && query.pageSize === 0;
    const one = this.#pageShape(whole ? { ...query, pageSize: limits.pageEventsMax } : query);
    const shape = whole ? { ...one, pages: "ALL" as const } : one;
    const pages = await this.#open(query, shape, budget, signal);
    await budget.take(pages.bytesHeld, signal);
    const explained = new ExplainedRead();
    let outcome: PageOutcome | undefined;
    try {
      do {
        outcome = await this.#orReason(pages.next(), signal);
        explained.add(outcome);
      } while (whole && !outcome.ended && !outcome.page.context.partial);
      return { explained, namespaceId: pages.namespaceId };
    } finally {
      await this.#close(query.namespace, pages, outcome);
    }
  }

  async #close(namespace: string, pages: PageReader, last: PageOutcome | undefined): Promise<void> {
    const closed = pages.close().then(() => {
      this.#deps.budget.give(pages.bytesHeld);
      this.#learn(namespace, pages);
    });
    // A partial answer does not wait for the storage that made it partial.
    if (last?.page.context.partial !== true) await closed;
  }

  /** A read that has ended teaches the next ones of its namespace how far to read ahead. */
  #learn(namespace: string, { namespaceId, fullBuckets, aheadBytes }: PageReader): void {
    const { USED: usedBytes, LEFT: leftBytes } = aheadBytes;
    const result = { buckets: fullBuckets, usedBytes, leftBytes };
    const fanOut = this.#fanOuts.learn(namespaceId, result);
    this.#deps.onReadAhead?.({ namespace, fanOut, bytesOf: aheadBytes });
  }

  async #open(
    query: ReadQuery,
    shape: PageShape,
    budget: ByteBudget,
    signal: AbortSignal,
  ): Promise<PageReader> {
    const { clock, tokens } = this.#deps;
    const view = await this.#admit(query);
    const state =
      query.pageToken === ""
        ? undefined
        : tokens.decode(query, view.namespace.id, clock.nowMicros());
    const ahead = { budget, fanOut: this.#fanOuts.of(view.namespace.id) };
    return new PageReader(this.#deps, query, view, state, shape, ahead, signal);
  }

  /** Whatever error an abort caused inside, the caller gets the abort's reason. */
  async #orReason<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await work;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }

  async #admit(query: ReadQuery): Promise<NamespaceView> {
    const { clock, limits, others } = this.#deps;
    const problems = new Problems();
    checkQuery(query, limits, problems);
    problems.throwIfAny("REQUEST_INVALID");
    let view = await this.#view(query.namespace);
    const now = clock.nowMicros();
    if (others !== undefined && mayMissSlice(view, query, now, others.clockSkewMicros)) {
      await others.refreshView(query.namespace);
      view = await this.#view(query.namespace);
    }
    const block = blockOf(view, query.seriesId, clock.nowMicros());
    if (block !== undefined) throw new ServiceError("ID_BLOCKED", blockedMessage(block));
    return view;
  }

  async #view(namespace: string): Promise<NamespaceView> {
    const { views } = this.#deps;
    return views.current(namespace) ?? (await views.get(namespace));
  }

  #pageShape(query: ReadQuery): PageShape {
    const { pageSizeDefault, pageBytesMax } = this.#deps.limits;
    return {
      eventsMax: query.pageSize === 0 ? pageSizeDefault : query.pageSize,
      bytesMax: pageBytesMax,
      cutAt: "EVENT",
      pages: "ONE",
    };
  }

  #streamShape(query: ReadQuery): PageShape {
    const { pageEventsMax, streamPageBytes } = this.#deps.limits;
    return {
      eventsMax: query.pageSize === 0 ? pageEventsMax : query.pageSize,
      bytesMax: streamPageBytes,
      // The number of events of a stream's page does not matter, unless the caller set one.
      cutAt: query.pageSize === 0 ? "RUN" : "EVENT",
      pages: "ALL",
    };
  }

  /** The partitions that were read, then those that were not reached. */
  async #explainRows(
    query: ReadQuery,
    view: NamespaceView,
    read: readonly ExplainedPartition[],
    signal: AbortSignal,
  ): Promise<ExplainedPartition[]> {
    const unread = this.#unreadRows(query, view, read);
    const rows: ExplainedPartition[] = [];
    const explainOne = async (row: ExplainedPartition): Promise<ExplainedPartition> => {
      if (row.read && !mayBeHeld(row.route)) return row;
      const { timeSlice: slice, timeBucket, eventBucket } = row;
      const { seriesId } = query;
      const partition = {
        namespaceId: view.namespace.id,
        slice,
        seriesId,
        timeBucket,
        eventBucket,
      };
      const route = await this.#deps.opener.explain(view, partition);
      // A read that does not check whether a partition is split cannot report that its split is
      // held back.
      return row.read && !mayBeHeld(route.route) ? row : { ...row, ...route };
    };
    const all = [...read, ...unread];
    for await (const row of mapBounded(all, () => EXPLAINED_AT_ONCE, signal, explainOne)) {
      rows.push(row);
    }
    return rows;
  }

  #unreadRows(
    query: ReadQuery,
    view: NamespaceView,
    read: readonly ExplainedPartition[],
  ): ExplainedPartition[] {
    const { tokens, clock } = this.#deps;
    const { pageToken } = query;
    const after =
      pageToken === ""
        ? undefined
        : tokens.decode(query, view.namespace.id, clock.nowMicros()).position;
    const seen = new Set(read.map(bucketText));
    const rows: ExplainedPartition[] = [];
    for (const bucket of bucketsOf(view.slices, { ...query, after })) {
      const place = { timeSlice: bucket.slice.name, timeBucket: bucket.timeBucket };
      if (seen.has(bucketText(place))) continue;
      for (const { eventBucket } of partitionsOf(query.seriesId, view, bucket)) {
        if (read.length + rows.length >= EXPLAINED_PARTITIONS_MAX) return rows;
        rows.push({ ...UNREAD, ...place, eventBucket });
      }
    }
    return rows;
  }
}

/**
 * A deletion is marked `view_max_age` before the first table goes. So a view that is young enough
 * after a page shows every deletion that the page could have met.
 */
function requireSameNamespace({ namespace }: NamespaceView, namespaceId: string): void {
  if (namespace.id === namespaceId) return;
  throw new ServiceError(
    "NAMESPACE_NOT_FOUND",
    `namespace "${namespace.name}" was deleted during the read, and another one has its name now; begin the read again, without a page token`,
    { details: { namespace: namespace.name } },
  );
}

const UNREAD = { ...NOT_SPLIT, bytes: 0, events: 0, millis: 0, read: false };

/** The routes of originals that a read took without a problem. */
function mayBeHeld(route: RouteName): boolean {
  return (
    route === "ORIGINAL_NOT_SPLIT" || route === "ORIGINAL_FILTER_MISS" || route === "ORIGINAL_HELD"
  );
}
