/**
 * Reads page after page of one query on one walk over its time buckets. A page ends when it is
 * full, its time is up, or the interval ends, and the next one continues at the same position.
 */
import type { ByteBudget } from "../lib/byte-budget.ts";
import { assert } from "../lib/errors.ts";
import type { NamespaceView } from "../model/namespace.ts";
import type { Position } from "../wire/frames.ts";
import { BucketReader } from "./bucket-reader.ts";
import { BucketWalk } from "./bucket-walk.ts";
import type { WalkOptions } from "./bucket-walk.ts";
import { BucketWidth } from "./bucket-width.ts";
import { endOfBucket } from "./buckets-of.ts";
import { PageBuilder } from "./page-builder.ts";
import type { PageCut } from "./page-builder.ts";
import type { PageState } from "./page-tokens.ts";
import { PartialReturn } from "./partial-return.ts";
import type { ReadDependencies } from "./read-dependencies.ts";
import type { ExplainedPartition, ReadPage } from "./read-page.ts";
import type { ReadQuery } from "./read-query.ts";
import { reportPartitions } from "./report-partitions.ts";
import type { ReportContext } from "./report-partitions.ts";
import { readsSplit } from "./width-shares.ts";

/** How a page is cut; a stream cuts differently from a single page. */
export interface PageShape {
  readonly eventsMax: number;
  readonly bytesMax: number;
  /**
   * EVENT fills it to the last event; RUN ends it before a run that does not fit whole, which saves
   * parsing the events of that run.
   */
  readonly cutAt: PageCut;
  /** Whether the caller takes one page of this reader, or page after page. */
  readonly pages: "ONE" | "ALL";
}

export interface PageOutcome {
  readonly page: ReadPage;
  /** Whether this was the last page. */
  readonly ended: boolean;
  readonly partitions: readonly ExplainedPartition[];
}

/** Where a reader gets memory from, and what it may do with it. */
export interface ReadAhead {
  readonly fanOut: number;
  readonly budget: ByteBudget;
}

/** The page being read. */
interface Draft {
  readonly builder: PageBuilder;
  readonly partitions: ExplainedPartition[];
  wide: boolean;
}

/** Why a page ended. */
type Ending = "end" | "full" | "partial" | "many partitions";

export class PageReader {
  readonly #deps: ReadDependencies;
  readonly #query: ReadQuery;
  readonly #view: NamespaceView;
  readonly #shape: PageShape;
  readonly #walk: BucketWalk;
  readonly #width: BucketWidth;
  readonly #report: ReportContext;
  /** Events still to be returned under the total limit; 0 for none. */
  #left: number;
  #draft: Draft | undefined;
  /** The last position that the page before has examined. */
  #examined: Position | undefined;
  /** Of the pages before this one. */
  #pages = 0;
  #returnedEvents = 0;
  #returnedBytes = 0;

  constructor(
    deps: ReadDependencies,
    query: ReadQuery,
    view: NamespaceView,
    state: PageState | undefined,
    shape: PageShape,
    { fanOut, budget }: ReadAhead,
    signal: AbortSignal,
  ) {
    this.#deps = deps;
    this.#query = query;
    this.#view = view;
    this.#shape = shape;
    this.#left = state?.left ?? query.totalLimit;
    this.#width = new BucketWidth({
      bytes: state?.bucketBytes ?? 0,
      events: state?.bucketEvents ?? 0,
    });
    this.#report = { view, query, onPartitionRead: deps.onPartitionRead };
    const after = state?.position;
    this.#walk = new BucketWalk(
      {
        deps,
        query,
        view,
        after,
        pageBytesMax: shape.bytesMax,
        pageEventsMax: () => this.#eventsMax(),
        eventsWanted: () => this.#eventsWanted(),
        progress: () => this.#progress(),
        fanOut,
        budget,
      },
      signal,
    );
  }

  /** The memory it may hold, apart from what it borrows. */
  get bytesHeld(): number {
    return this.#walk.bytesHeld;
  }

  /** What became of the bytes read ahead; final when it is closed. */
  get aheadBytes(): BucketWalk["aheadBytes"] {
    return this.#walk.aheadBytes;
  }

  /** How many time buckets with events it has read to their end. */
  get fullBuckets(): number {
    return this.#walk.fullBuckets;
  }

  /** The internal id of the namespace it reads. */
  get namespaceId(): string {
    return this.#view.namespace.id;
  }

  async next(): Promise<PageOutcome> {
    const { clock } = this.#deps;
    const startedMs = clock.monotonicMs();
    const maxMs = this.#view.namespace.config.slos.read.maxMs;
    using partial = new PartialReturn(clock, this.#query.allowPartial ? maxMs : undefined);
    const { bytesMax, cutAt } = this.#shape;
    const builder = new PageBuilder(this.#eventsMax(), bytesMax, this.#query.filters, cutAt);
    const draft: Draft = { builder, partitions: [], wide: false };
    this.#draft = draft;
    const ending = await this.#fill(draft, partial, startedMs);
    const { bucket } = this.#walk;
    if (ending !== "end" && bucket !== undefined) this.#reportBucket(draft, bucket, "UNDER_WAY");
    return this.#outcome(ending, draft, {
      timeTakenMs: clock.monotonicMs() - startedMs,
      partialReason: ending === "partial" ? partial.reason : "",
    });
  }

  /** Ends what still runs and waits for it. */
  close(): Promise<void> {
    return this.#walk.close();
  }

  async #fill(draft: Draft, partial: PartialReturn, startedMs: number): Promise<Ending> {
    const { builder, partitions } = draft;
    let { isPending } = this.#walk;
    for (;;) {
      const isOld = isPending;
      isPending = false;
      const step = await partial.race(this.#walk.next(), builder.examined !== undefined);
      if (step === "time is up") return "partial";
      this.#walk.take(step);
      if (step instanceof BucketReader) continue;
      if (step !== undefined && isOld) {
        // The page before did not wait for it. It is checked like what a page had no room for.
        this.#walk.putBack(step, this.#examined);
        continue;
      }
      if (step !== undefined) {
        const { examinedBytes, examinedEvents } = builder;
        const rest = builder.add(step);
        if (rest !== undefined) this.#walk.putBack(rest, builder.examined);
        this.#width.add(
          builder.examinedBytes - examinedBytes,
          builder.examinedEvents - examinedEvents,
        );
        if (builder.full) return "full";
        continue;
      }
      const { bucket } = this.#walk;
      if (bucket === undefined) return "end";
      await this.#endBucket(draft, bucket);
      if (this.#isTurnOver(partitions.length, startedMs)) return "many partitions";
    }
  }

  #isTurnOver(partitions: number, startedMs: number): boolean {
    const { clock, limits } = this.#deps;
    if (partitions >= limits.pagePartitionsMax) return true;
    if (partitions < limits.pagePartitionsMin) return false;
    return clock.monotonicMs() - startedMs >= limits.pageTurnMs;
  }

  async #endBucket(draft: Draft, bucket: BucketReader): Promise<void> {
    this.#reportBucket(draft, bucket, "ENDED");
    draft.builder.examined = endOfBucket(bucket.bucket, this.#query.order);
    const found = this.#width.isEmpty ? "empty" : "events";
    this.#width.reset();
    await this.#walk.endBucket(bucket, found);
  }

  #reportBucket(draft: Draft, reader: BucketReader, progress: "UNDER_WAY" | "ENDED"): void {
    const { bucket, sources } = reader;
    const widths = this.#width.sharesOf(reader);
    const reported = { bucket, sources, progress, widths };
    if (reportPartitions(this.#report, reported, draft.partitions)) draft.wide = true;
  }

  #outcome(
    ending: Ending,
    { builder, partitions, wide }: Draft,
    timing: { timeTakenMs: number; partialReason: string },
  ): PageOutcome {
    const { chunks, count } = builder;
    this.#examined = builder.examined;
    const limited = this.#left > 0;
    if (limited) this.#left -= count;
    this.#draft = undefined;
    this.#pages++;
    this.#returnedEvents += count;
    this.#returnedBytes += builder.bytes;
    const ended = ending === "end" || (limited && this.#left === 0);
    const nextPageToken = ended ? "" : this.#tokenAfter(builder);
    const context = {
      namespace: this.#query.namespace,
      partitionsRead: partitions.length,
      splitPartitionsRead: partitions.filter(({ route }) => readsSplit(route)).length,
      bytesRead: builder.examinedBytes,
      partial: ending === "partial",
      ...timing,
    };
    return { page: { chunks, count, nextPageToken, wide, context }, ended, partitions };
  }

  #tokenAfter({ examined: position }: PageBuilder): string {
    assert(position !== undefined, "a page that is not the last has moved on");
    const { clock, tokens } = this.#deps;
    const { bucket } = this.#walk;
    // Between two buckets there is nothing to continue.
    const width = bucket === undefined ? undefined : this.#width.totalOf(bucket);
    const state = {
      position,
      left: this.#left,
      bucketBytes: width?.bytes ?? 0,
      bucketEvents: width?.events ?? 0,
    };
    return tokens.encode(this.#query, this.#view.namespace.id, state, clock.nowMicros());
  }

  /** How many events the page still takes; undefined if a filter, or another page, wants more. */
  #eventsWanted(): number | undefined {
    if (this.#shape.pages === "ALL" || this.#query.filters.length > 0) return undefined;
    return this.#eventsMax() - (this.#draft?.builder.count ?? 0);
  }

  #progress(): ReturnType<WalkOptions["progress"]> {
    const { pages, bytesMax } = this.#shape;
    const { count = 0, bytes = 0 } = this.#draft?.builder ?? {};
    const limit = this.#left === 0 ? Number.POSITIVE_INFINITY : this.#left;
    return {
      returned: { events: this.#returnedEvents + count, bytes: this.#returnedBytes + bytes },
      room:
        pages === "ALL"
          ? { events: limit - count, bytes: Number.POSITIVE_INFINITY }
          : { events: this.#eventsMax() - count, bytes: bytesMax - bytes },
      // The second page of a stream is read before anybody has asked for it.
      streaming: pages === "ALL" && this.#pages >= 2,
    };
  }

  #eventsMax(): number {
    const { eventsMax } = this.#shape;
    return this.#left === 0 ? eventsMax : Math.min(eventsMax, this.#left);
  }
}
