/**
 * Walks over the time buckets of a query, run by run, and reads buckets ahead of the one it is at,
 * in parallel (`how-far-ahead.ts`). A storage that can search for the next bucket with events is
 * asked for it after a few empty ones.
 *
 * Buckets ahead never change what the walk returns, only when it has it. A step that a page did not
 * wait for stays pending, and the rest that did not fit on a page is put back: the next page begins
 * with them. What is fetched of the present bucket stays within `bytesHeld`, everything else is on
 * loan (rule C20).
 */
import type { ByteBudget } from "../lib/byte-budget.ts";
import { assert, ServiceError } from "../lib/errors.ts";
import { nextTurn } from "../lib/in-steps.ts";
import { LinkedAbort } from "../lib/linked-abort.ts";
import type { NamespaceView } from "../model/namespace.ts";
import type { Position, Run } from "../wire/frames.ts";
import { AheadMemory } from "./ahead-memory.ts";
import { BucketReader } from "./bucket-reader.ts";
import type { BucketTurn } from "./bucket-reader.ts";
import { BucketScan, runBytesMin } from "./bucket-scan.ts";
import { bucketsOf, bucketsLeft, eventBucketsMax, positionBefore } from "./buckets-of.ts";
import type { BucketRange } from "./buckets-of.ts";
import { howFarAhead } from "./how-far-ahead.ts";
import type { AheadFacts } from "./how-far-ahead.ts";
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
  /** How far the pages have come. */
  readonly progress: () => Pick<AheadFacts, "returned" | "room" | "streaming">;
  /** How many time buckets it may read at once. */
  readonly fanOut: number;
  /** For buckets ahead. */
  readonly budget: ByteBudget;
}

/**
 * Expected size of an event, for sizing the fetches: a wrong guess costs a round trip, not memory.
 */
const EVENT_BYTES_GUESS = 512;
const FETCH_BYTES_MIN = 64 * 1024;
/** A scan holds the run that it returned last, and the fetch behind it. */
const FETCHES_PER_SCAN = 2;
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
  readonly #memory: AheadMemory;
  readonly #fetchBytes: number;
  readonly #fanOut: number;
  readonly #emptyFanOut: number;
  /** The buckets that no reader was made for. */
  #unread: Iterator<BucketRange, void, undefined>;
  /** The buckets behind the current one, in order, of which some may have been read ahead. */
  #ahead: BucketReader[] = [];
  /** The first of them, which a step opens and `take` makes the current one. */
  #opening: BucketReader | undefined;
  #bucket: BucketReader | undefined;
  /** Skipped, and still closing. */
  readonly #closing = new Set<Promise<void>>();
  #pending: Promise<WalkStep> | undefined;
  /** Buckets without an event since the last one that had some. */
  #emptyBuckets = 0;
  /** The bucket that the walk left last. */
  #ended: BucketRange | undefined;
  #endedCount = 0;
  #endedBytes = 0;
  #fullCount = 0;

  constructor(options: WalkOptions, signal: AbortSignal) {
    const { deps, query, view, after, pageBytesMax, pageEventsMax, fanOut, budget } = options;
    this.#options = options;
    const searches = deps.search.findTimeBucket !== undefined;
    const steps = view.idStrategies.get(query.seriesId);
    const eventBuckets = eventBucketsMax(view.slices, query, steps);
    // Every partition fetches something, however small its share: with many of them, buckets are
    // read one at a time. A search makes it unnecessary to read empty buckets ahead.
    this.#fanOut = Math.max(1, Math.floor(fanOut / eventBuckets));
    this.#emptyFanOut = searches ? 1 : Math.max(1, Math.floor(deps.limits.aheadMax / eventBuckets));
    this.#fetchBytes = Math.max(
      fetchBytesOf(pageBytesMax, pageEventsMax()),
      eventBuckets * runBytesMin(eventBuckets),
    );
    this.#leaving = new LinkedAbort(signal);
    this.#memory = new AheadMemory(
      budget,
      deps.limits.aheadBytesMax,
      () => FETCHES_PER_SCAN * this.#runBytesOf("AHEAD"),
      () => this.#recall(),
    );
    this.#unread = this.#bucketsAfter(after);
  }

  /** The memory it may hold, apart from what is on loan. */
  get bytesHeld(): number {
    return FETCHES_PER_SCAN * this.#fetchBytes;
  }

  /** The current bucket; undefined between two buckets and at the end. */
  get bucket(): BucketReader | undefined {
    return this.#bucket;
  }

  /** What became of the bytes read ahead. */
  get aheadBytes(): AheadMemory["bytesOf"] {
    return this.#memory.bytesOf;
  }

  /** How many buckets with events it has left. */
  get fullBuckets(): number {
    return this.#fullCount;
  }

  /** The same step again until it is taken. */
  next(): Promise<WalkStep> {
    return (this.#pending ??= this.#step());
  }

  /** The step that `next` returned has been used. */
  take(step: WalkStep): void {
    this.#pending = undefined;
    if (!(step instanceof BucketReader)) return;
    this.#bucket = step;
    this.#opening = undefined;
  }

  /**
   * The rest of the last run, which did not fit on a page that has examined everything before it.
   */
  putBack(rest: Run, examined: Position | undefined): void {
    assert(this.#bucket !== undefined && examined !== undefined, "a run is of the current bucket");
    this.#bucket.putBack(rest, examined);
  }

  /** Whether a step is under way or done that no page has taken. */
  get isPending(): boolean {
    return this.#pending !== undefined;
  }

  /** Leaves the current bucket, which is at its end. */
  async endBucket(bucket: BucketReader, found: "empty" | "events"): Promise<void> {
    this.#emptyBuckets = found === "empty" ? this.#emptyBuckets + 1 : 0;
    if (found === "events") this.#fullCount++;
    this.#endedBytes += bucket.bytes;
    this.#bucket = undefined;
    this.#ended = bucket.bucket;
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
    const buckets = [...this.#open()].map((bucket) => bucket.close());
    await Promise.allSettled([...this.#closing, ...buckets]);
  }

  *#open(): Generator<BucketReader, void, undefined> {
    if (this.#bucket !== undefined) yield this.#bucket;
    if (this.#opening !== undefined) yield this.#opening;
    yield* this.#ahead;
  }

  async #step(): Promise<WalkStep> {
    this.#leaving.signal.throwIfAborted();
    if (this.#bucket !== undefined) {
      const run = this.#bucket.next();
      this.#readAhead();
      return run;
    }
    if (this.#emptyBuckets >= EMPTY_BEFORE_SEARCH) await this.#skipEmpty();
    const bucket = this.#ahead.shift() ?? this.#nextReader();
    if (bucket === undefined) return undefined;
    this.#opening = bucket;
    const opened = bucket.open();
    this.#readAhead();
    return opened;
  }

  /** Nearest first, so that memory goes where it is needed soonest. */
  #readAhead(): void {
    const wanted = howFarAhead({
      ...this.#options.progress(),
      fanOut: this.#fanOut,
      emptyFanOut: this.#emptyFanOut,
      emptyBuckets: this.#emptyBuckets,
      ended: this.#endedCount,
      endedBytes: this.#endedBytes,
      bytesMax: this.#memory.bytesMax,
    });
    while (this.#ahead.length < wanted) {
      const reader = this.#nextReader();
      if (reader === undefined) break;
      this.#ahead.push(reader);
    }
    for (const bucket of this.#ahead.slice(0, wanted)) bucket.readAhead();
  }

  /** Other reads wait for memory. */
  #recall(): void {
    for (const bucket of this.#open()) bucket.recall();
  }

  #bucketsAfter(after: Position | undefined): Iterator<BucketRange, void, undefined> {
    const { query, view } = this.#options;
    return bucketsOf(view.slices, { ...query, after });
  }

  #nextReader(): BucketReader | undefined {
    const next = this.#unread.next();
    if (next.done === true) return undefined;
    const bucket = next.value;
    return new BucketReader(
      bucket,
      (turn, after, signal) => this.#openScan(bucket, turn, after, signal),
      this.#memory,
      this.#leaving.signal,
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
    this.#skipTo(positionBefore(slice, found, query.order));
  }

  /** Leaves out the buckets before a position. */
  #skipTo(position: Position): void {
    const { order } = this.#options.query;
    const kept = this.#ahead.findIndex(({ bucket: { from, to } }) =>
      order === "OLDEST_FIRST" ? to > position.time : from < position.time,
    );
    const skipped = this.#ahead.splice(0, kept < 0 ? this.#ahead.length : kept);
    for (const bucket of skipped) {
      const closing = bucket.close().finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
    }
    if (this.#ahead.length === 0) this.#unread = this.#bucketsAfter(position);
  }

  #openScan(
    bucket: BucketRange,
    turn: BucketTurn,
    behind: Position | undefined,
    signal: AbortSignal,
  ): BucketScan {
    const { deps, query, view, after, pageEventsMax, eventsWanted } = this.#options;
    const { slos, consistency } = view.namespace.config;
    const range = {
      from: bucket.from,
      to: bucket.to,
      order: query.order,
      after: behind ?? after,
      // A filter may drop most of them: then only the bytes bound a fetch.
      runEventsMax: query.filters.length === 0 ? pageEventsMax() : deps.limits.pageEventsMax,
      runBytesMax: this.#runBytesOf(turn),
      eventsWanted: eventsWanted(),
      level: { ...slos.read, consistency },
    };
    const partitions = partitionsOf(query.seriesId, view, bucket);
    return new BucketScan(deps.opener, view, partitions, range, signal);
  }

  /** While buckets are empty, those ahead share one fetch. */
  #runBytesOf(turn: BucketTurn): number {
    const isShared = turn === "AHEAD" && this.#emptyBuckets > 0;
    return isShared ? Math.ceil(this.#fetchBytes / this.#emptyFanOut) : this.#fetchBytes;
  }
}

function fetchBytesOf(pageBytesMax: number, eventsMax: number): number {
  return Math.min(pageBytesMax, Math.max(FETCH_BYTES_MIN, eventsMax * EVENT_BYTES_GUESS));
}
