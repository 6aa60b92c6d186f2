import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MemoryStore } from "../../tests/support/memory-store.ts";
import { OriginalOpener } from "../../tests/support/original-opener.ts";
import { joinedSlices, staticView, viewSource } from "../../tests/support/static-view.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import { utf8 } from "../lib/bytes.ts";
import { systemClock } from "../lib/clock.ts";
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import { nextTurn } from "../lib/in-steps.ts";
import { eventBucketOf, timeBucketOf } from "../model/partition.ts";
import type { PartitionRead } from "../partition/partition-read.ts";
import type { PartitionSource } from "../partition/partition-source.ts";
import { encodeEvent } from "../wire/event-record.ts";
import { eventsOfRun, frameLength, positionOf, writeFrame } from "../wire/frames.ts";
import type { Run } from "../wire/frames.ts";
import { PageTokens } from "./page-tokens.ts";
import type { ReadAheadNote } from "./read-dependencies.ts";
import { EventReader } from "./read-events.ts";
import { DEFAULT_READ_LIMITS } from "./read-limits.ts";
import type { ReadLimits } from "./read-limits.ts";
import type { ReadPage } from "./read-page.ts";
import type { ReadQuery } from "./read-query.ts";

const SECOND = 1_000_000;
const START = 1_790_000_000 * SECOND;
const BUCKETS = 24;
const never = new AbortController().signal;
/** One bucket after another. */
const SEQUENTIAL = { fanOutMax: 1, aheadMax: 1 };

const world = fc.record({
  eventBuckets: fc.constantFrom(1, 1, 1, 3),
  /** Events of each bucket. */
  counts: fc.array(fc.oneof(fc.nat(8), fc.constant(0), fc.constant(15)), {
    minLength: BUCKETS,
    maxLength: BUCKETS,
  }),
  /** The store can search for the next bucket with events. */
  searches: fc.boolean(),
  /** The second whose events cannot be read, if any. */
  failsAt: fc.option(fc.nat(BUCKETS * 40), { nil: undefined, freq: 3 }),
  runEvents: fc.integer({ min: 1, max: 8 }),
  /** How many turns of the event loop each fetch takes. */
  delays: fc.array(fc.nat(3), { minLength: 1, maxLength: 7 }),
  /** How many turns a caller of a stream takes for each page. */
  thinks: fc.array(fc.nat(4), { minLength: 1, maxLength: 4 }),
  /** So many bytes of the budget are needed by others from time to time. */
  pressure: fc.constantFrom(0, 0, 1 << 16, 1 << 21),
  budget: fc.constantFrom(1 << 17, 1 << 19, 1 << 24),
  query: fc.record({
    order: fc.constantFrom<ReadQuery["order"]>("NEWEST_FIRST", "OLDEST_FIRST"),
    pageSize: fc.constantFrom(2, 5, 20, 200),
    totalLimit: fc.constantFrom(0, 0, 5, 100),
    isFiltered: fc.boolean(),
    start: fc.nat(BUCKETS * 20),
  }),
});
type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

test("C20: pages and streams that read ahead are those of a read of one bucket after another, in every field", async () => {
  await fc.assert(
    fc.asyncProperty(world, async (input) => {
      const fixture = await Fixture.open(input);
      for (const how of ["pages", "stream"] as const) {
        const plain = await fixture.record(how, SEQUENTIAL);
        // The same reader again: by then it has learned.
        const reader = fixture.newReader({});
        for (let nth = 0; nth < 3; nth++) {
          deepEqual(await fixture.record(how, {}, reader), plain, how);
          equal(fixture.budget.used, 0, "all memory was given back");
        }
      }
      equal(fixture.openScans.size, 0, "every scan was closed");
    }),
    { numRuns: 60, examples: [[RECALLED_IN_A_MERGE]] },
  );
});

test("C20: a caller that leaves a stream anywhere ends everything that was read ahead", async () => {
  await fc.assert(
    fc.asyncProperty(world, fc.nat(6), fc.boolean(), async (input, pages, byAbort) => {
      const fixture = await Fixture.open({ ...input, failsAt: undefined });
      const reader = fixture.newReader({});
      const leaving = new AbortController();
      let seen = 0;
      const reading = async (): Promise<void> => {
        for await (const page of reader.stream(fixture.query("stream"), leaving.signal)) {
          ok(page.count >= 0);
          if (seen++ < pages) continue;
          if (!byAbort) return;
          leaving.abort(new ServiceError("DEADLINE_EXCEEDED", "the deadline has passed"));
        }
      };
      const error = await reading().then(
        () => undefined,
        (failed: unknown) => failed,
      );
      if (error !== undefined) equal((error as ServiceError).code, "DEADLINE_EXCEEDED");
      equal(fixture.openScans.size, 0);
      equal(fixture.budget.used, 0);
    }),
    { numRuns: 60 },
  );
});

test("a failure ahead shows only when the read reaches it, and only if it lasts", async () => {
  const fixture = await Fixture.open({ counts: dense(10), failsAt: 5 * 40 });
  const reader = fixture.newReader({});
  let seen = 0;
  const reading = async (): Promise<void> => {
    for await (const page of reader.stream(fixture.query("stream", { pageSize: 10 }), never)) {
      seen += page.count;
      // The buckets ahead have time to fail.
      for (let turn = 0; turn < 50; turn++) await nextTurn();
    }
  };
  await rejects(reading(), (error: unknown) => (error as ServiceError).code === "DATA_LOSS");
  equal(seen, 50);
  const [note] = fixture.notes;
  ok(note !== undefined && note.bytesOf.USED > 0);
  // Now it fails once, while it is read ahead.
  seen = 0;
  fixture.failuresLeft = 1;
  await reading();
  equal(seen, BUCKETS * 10);
});

test("a page that its first bucket fills reads no other, and no page throws much away", async () => {
  const fixture = await Fixture.open({ counts: dense(40), runEvents: 100 });
  const reader = fixture.newReader({});
  await reader.readPage(fixture.query("pages", { pageSize: 40 }), never);
  deepEqual(fixture.scanned, new Set([0]));
  fixture.scanned.clear();
  // The first bucket fills half of it: one more is needed.
  await reader.readPage(fixture.query("pages", { pageSize: 80 }), never);
  deepEqual(fixture.scanned, new Set([0, 1]));
  fixture.scanned.clear();
  await reader.readPage(fixture.query("pages", { pageSize: 200 }), never);
  deepEqual(fixture.scanned, new Set([0, 1, 2, 3, 4]));
  for (const { bytesOf } of fixture.notes) equal(bytesOf.LEFT, 0);
});

test("a stream reads buckets ahead at once, and their number follows what callers take", async () => {
  const fixture = await Fixture.open({ counts: dense(30), delays: [2] });
  const reader = fixture.newReader({});
  const all = async (pages: number): Promise<void> => {
    let seen = 0;
    for await (const page of reader.stream(fixture.query("stream", { pageSize: 30 }), never)) {
      ok(page.count > 0);
      if (++seen === pages) return;
    }
  };
  await all(BUCKETS);
  ok(fixture.scansMost >= 8, `${fixture.scansMost} at once`);
  for (let nth = 0; nth < 10; nth++) await all(BUCKETS);
  equal(fixture.notes.at(-1)?.fanOut, DEFAULT_READ_LIMITS.fanOutMax);
  for (let nth = 0; nth < 20; nth++) await all(3);
  const fanOut = fixture.notes.at(-1)?.fanOut ?? 0;
  ok(fanOut < 8, `${fanOut}`);
});

test("O10, C20: many dense streams at a time stay within the memory for streams, and none waits for ever", async () => {
  const bytes = 8 << 20;
  const fixture = await Fixture.open({ counts: dense(30), budget: bytes, delays: [0, 1, 3] });
  const reader = fixture.newReader({});
  let most = 0;
  let begun = 0;
  const watch = async (): Promise<void> => {
    for (; begun >= 0; await nextTurn()) most = Math.max(most, fixture.budget.used);
  };
  const watching = watch();
  // Each caller opens all of its streams before it reads on with any: 7 of 1 MiB fit at a time.
  const counts = await Promise.all(
    Array.from({ length: 7 }, async () => {
      const pages = reader.stream(fixture.query("stream", { pageSize: 0 }), never);
      let seen = (await pages.next()).value?.count ?? 0;
      begun++;
      while (begun < 7) await nextTurn();
      for await (const page of pages) seen += page.count;
      return seen;
    }),
  ).finally(() => {
    begun = -1;
  });
  await watching;
  deepEqual(new Set(counts), new Set([BUCKETS * 30]));
  ok(most <= bytes, `${most} bytes at a time`);
  equal(fixture.budget.used, 0);
});

test("O10, C20: a stream whose caller does not read gives back what it has read ahead when others wait", async () => {
  const fixture = await Fixture.open({ counts: dense(30), budget: 8 << 20 });
  const reader = fixture.newReader({});
  const slow = reader.stream(fixture.query("stream", { pageSize: 30 }), never);
  let seen = 0;
  for (let nth = 0; nth < 5; nth++) seen += (await slow.next()).value?.count ?? 0;
  for (let turn = 0; turn < 100; turn++) await nextTurn();
  const before = fixture.budget.used;
  // The stream has its own share, and holds more on loan.
  const rest = (8 << 20) - (128 << 10);
  await fixture.budget.take(rest, never);
  ok(before > 128 << 10, `${before} bytes before`);
  for await (const page of slow) seen += page.count;
  equal(seen, BUCKETS * 30);
  fixture.budget.give(rest);
  equal(fixture.budget.used, 0);
  const [note] = fixture.notes;
  ok((note?.bytesOf.RECALLED ?? 0) > 0);
});

test("C23: a run of a split that was read ahead is not passed on when the split is withdrawn meanwhile", async () => {
  const fixture = await Fixture.open({ counts: dense(10) });
  let withdrawn = false;
  fixture.opened = (source) => (withdrawn ? source : asSplit(source, () => withdrawn));
  const reader = fixture.newReader({});
  let seen = 0;
  for await (const page of reader.stream(fixture.query("stream", { pageSize: 10 }), never)) {
    seen += page.count;
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    if (seen === 40) withdrawn = true;
  }
  equal(seen, BUCKETS * 10);
  const [note] = fixture.notes;
  ok((note?.bytesOf.WITHDRAWN ?? 0) > 0);
  // The page that was read when it was withdrawn is the last with events of splits.
  const split = fixture.reads.filter(({ route }) => route === "SPLIT");
  deepEqual(new Set(split.map(({ partition }) => partition.timeBucket)), new Set([0, 1, 2, 3, 4]));
});

for (const eventBuckets of [1, 3] as const) {
  test(`C23: what a page left of a withdrawn split is not on a page that begins later, with ${eventBuckets} event buckets`, async () => {
    const fixture = await Fixture.open({ counts: dense(15), eventBuckets });
    for (const taken of [1, 2, 3, 4, 5]) {
      await withdrawDuringStream(fixture, taken, { pageSize: 4 });
    }
  });
}

test("C23: a run that a partial page did not wait for is not on the next page if its split was withdrawn", async () => {
  const fixture = await Fixture.open({ counts: dense(15), runEvents: 3, delays: [3] });
  // Time is up at once: each page has one run, and the next one is under way.
  fixture.clock.after = (_ms, run) => {
    run();
    return () => undefined;
  };
  for (const taken of [1, 2, 3, 4, 5]) {
    await withdrawDuringStream(fixture, taken, { pageSize: 0, allowPartial: true });
  }
});

/** All splits are withdrawn when the caller has taken so many pages. */
async function withdrawDuringStream(
  fixture: Fixture,
  taken: number,
  change: Partial<ReadQuery>,
): Promise<void> {
  let withdrawn = false;
  fixture.opened = (source) => (withdrawn ? source : asSplit(source, () => withdrawn, "a split's"));
  const ids: string[] = [];
  let [pages, newestOfSplit] = [0, 0];
  for await (const page of fixture.newReader({}).stream(fixture.query("stream", change), never)) {
    pages++;
    const fromSplit = page.chunks.some((chunk) => Buffer.from(chunk).includes("a split's"));
    if (fromSplit) newestOfSplit = pages;
    ids.push(...idsOf(page));
    // The page behind this one is read.
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    if (pages === taken) withdrawn = true;
  }
  ok(newestOfSplit > 0 && newestOfSplit <= taken + 1, `page ${newestOfSplit} after ${taken}`);
  deepEqual(ids, fixture.ids);
}

/** One slice of 24 buckets of 40 seconds. */
class Fixture {
  readonly clock: Clock = { ...systemClock, nowMicros: () => START, monotonicMs: () => 0 };
  readonly store = new MemoryStore();
  readonly budget: ByteBudget;
  readonly input: World;
  readonly view;
  readonly reads: PartitionRead[] = [];
  readonly notes: ReadAheadNote[] = [];
  readonly openScans = new Set<object>();
  /** The time buckets that were asked for. */
  readonly scanned = new Set<number>();
  scansMost = 0;
  failuresLeft = Number.POSITIVE_INFINITY;
  opened: (source: PartitionSource) => PartitionSource = (source) => source;
  #fetches = 0;
  readonly #filled = new Set<number>();
  /** Of all events, oldest first. */
  readonly ids: string[] = [];

  private constructor(input: World) {
    this.input = input;
    this.budget = new ByteBudget(input.budget);
    const { eventBuckets } = input;
    const strategy = {
      secondsPerTimeSlice: BUCKETS * 40,
      secondsPerTimeBucket: 40,
      eventBuckets,
    };
    this.view = staticView({ slices: joinedSlices(START, [strategy]) });
  }

  static async open(input: Partial<Omit<World, "query">>): Promise<Fixture> {
    const fixture = new Fixture({ ...PLAIN, ...input });
    await fixture.#write();
    fixture.#watchScans();
    return fixture;
  }

  newReader(limits: Partial<ReadLimits>): EventReader {
    const { clock, store, budget } = this;
    const opener = new OriginalOpener(store, clock);
    return new EventReader({
      clock,
      views: viewSource(() => this.view),
      opener: {
        open: (...asked) => this.opened(opener.open(...asked)),
        explain: () => opener.explain(),
      },
      search: this.input.searches
        ? { findTimeBucket: (series, buckets) => this.#search(series, buckets) }
        : {},
      budget,
      streamBudget: budget,
      tokens: new PageTokens(new Uint8Array(32)),
      limits: { ...DEFAULT_READ_LIMITS, ...limits },
      onPartitionRead: (read) => this.reads.push(read),
      onReadAhead: (note) => this.notes.push(note),
    });
  }

  query(how: "pages" | "stream", change: Partial<ReadQuery> = {}): ReadQuery {
    const { order, pageSize, totalLimit, isFiltered, start } = this.input.query;
    return {
      namespace: "plays",
      seriesId: "s",
      start: START + start * SECOND,
      end: START + BUCKETS * 40 * SECOND,
      filters: isFiltered ? [{ key: utf8("device"), value: utf8("ios") }] : [],
      order,
      pageSize,
      totalLimit: how === "stream" ? totalLimit : 0,
      pageToken: "",
      allowPartial: false,
      ...change,
    };
  }

  /** Everything that a caller and the listeners of a read see, up to its end or its error. */
  async record(
    how: "pages" | "stream",
    limits: Partial<ReadLimits>,
    reader = this.newReader(limits),
  ): Promise<unknown> {
    const { thinks, pressure } = this.input;
    this.reads.length = 0;
    const pages: unknown[] = [];
    let failure: unknown;
    let done = false;
    const others = this.#needMemory(pressure, () => done);
    try {
      for await (const page of how === "pages" ? this.#pages(reader) : this.#stream(reader)) {
        pages.push(seenOf(page));
        for (let turn = thinks[pages.length % thinks.length] ?? 0; turn > 0; turn--) {
          await nextTurn();
        }
      }
    } catch (error) {
      failure = (error as ServiceError).code ?? error;
    }
    done = true;
    await others;
    const reads = this.reads.map(({ partition, route, bytes, events, whole }) => ({
      at: [partition.slice, partition.timeBucket, partition.eventBucket],
      route,
      bytes,
      events,
      whole,
    }));
    return { pages, failure, reads };
  }

  async *#pages(reader: EventReader): AsyncGenerator<ReadPage, void, undefined> {
    let pageToken = "";
    do {
      const page = await reader.readPage(this.query("pages", { pageToken }), never);
      yield page;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  #stream(reader: EventReader): AsyncGenerator<ReadPage, void, undefined> {
    return reader.stream(this.query("stream"), never);
  }

  /** Others take memory and give it back, until the read is done. */
  async #needMemory(bytes: number, isDone: () => boolean): Promise<void> {
    while (bytes > 0 && !isDone()) {
      const taken = Math.min(bytes, this.input.budget);
      await this.budget.take(taken, never);
      await nextTurn();
      this.budget.give(taken);
      await nextTurn();
    }
  }

  async #write(): Promise<void> {
    const [slice] = this.view.slices;
    ok(slice !== undefined);
    const { namespace } = this.view;
    const at = { namespaceId: namespace.id, slice: slice.name };
    await this.store.createSlice(at);
    for (const [bucket, count] of this.input.counts.entries()) {
      if (count > 0) this.#filled.add(bucket);
      for (let n = 0; n < count; n++) {
        const time = START + (bucket * 40 + n) * SECOND;
        const id = utf8(`${bucket}-${n}`);
        this.ids.push(`${bucket}-${n}`);
        const device = utf8((bucket * 7 + n) % 5 === 0 ? "ios" : "tv");
        const event = encodeEvent(utf8("s"), time, id, [{ key: utf8("device"), value: device }]);
        const eventBucket = eventBucketOf(this.input.eventBuckets, id);
        const timeBucket = timeBucketOf(slice, time);
        await this.store.append(at, [{ event, timeBucket, eventBucket }]);
      }
    }
  }

  async #search(
    _series: unknown,
    { first, last, order }: { first: number; last: number; order: ReadQuery["order"] },
  ): Promise<number | undefined> {
    await nextTurn();
    const found = [...this.#filled].filter((bucket) => bucket >= first && bucket <= last);
    return order === "OLDEST_FIRST" ? found[0] : found.at(-1);
  }

  #watchScans(): void {
    const scan = this.store.scan.bind(this.store);
    this.store.scan = (partition, range, signal) => {
      const runEventsMax = Math.min(range.runEventsMax, this.input.runEvents);
      this.scanned.add(partition.timeBucket);
      return this.#watched(scan(partition, { ...range, runEventsMax }, signal), signal);
    };
  }

  async *#watched(
    runs: AsyncIterable<Run>,
    signal: AbortSignal,
  ): AsyncGenerator<Run, void, undefined> {
    this.openScans.add(runs);
    this.scansMost = Math.max(this.scansMost, this.openScans.size);
    try {
      await this.#delay(signal);
      for await (const run of runs) {
        this.#fail(run);
        yield run;
        await this.#delay(signal);
      }
    } finally {
      this.openScans.delete(runs);
    }
  }

  async #delay(signal: AbortSignal): Promise<void> {
    const { delays } = this.input;
    for (let turn = delays[this.#fetches++ % delays.length] ?? 0; turn > 0; turn--) {
      signal.throwIfAborted();
      await nextTurn();
    }
  }

  #fail({ first, last }: Run): void {
    const { failsAt } = this.input;
    if (failsAt === undefined || this.failuresLeft === 0) return;
    const time = START + failsAt * SECOND;
    if (Math.min(first.time, last.time) > time || Math.max(first.time, last.time) < time) return;
    this.failuresLeft--;
    throw new ServiceError("DATA_LOSS", "a damaged partition");
  }
}

const PLAIN: World = {
  eventBuckets: 1,
  counts: [],
  searches: false,
  failsAt: undefined,
  runEvents: 8,
  delays: [0],
  thinks: [0],
  pressure: 0,
  budget: 1 << 26,
  query: { order: "OLDEST_FIRST", pageSize: 20, totalLimit: 0, isFiltered: false, start: 0 },
};

/** When the memory is recalled, event buckets have fetched more than was merged. */
const RECALLED_IN_A_MERGE: World = {
  ...PLAIN,
  eventBuckets: 3,
  counts: [0, 0, 0, 15, 0, 0, 0, 0, 0, 0, 15, 0, 15, 0, 0, 15, 4, 2, 15, 0, 0, 0, 0, 15],
  runEvents: 5,
  thinks: [1],
  pressure: 1 << 21,
  budget: 1 << 19,
  query: { order: "NEWEST_FIRST", pageSize: 5, totalLimit: 0, isFiltered: true, start: 0 },
};

function dense(events: number): number[] {
  return Array.from({ length: BUCKETS }, () => events);
}

function seenOf({ chunks, count, nextPageToken, wide, context }: ReadPage): unknown {
  const { timeTakenMs: _timing, ...rest } = context;
  return { ids: idsOf({ chunks }), count, nextPageToken, wide, ...rest };
}

function idsOf({ chunks }: Pick<ReadPage, "chunks">): string[] {
  return [...eventsOfRun({ chunks })].map((event) => Buffer.from(positionOf(event).id).toString());
}

/** The same events, as if they came from a split that may be withdrawn. */
function asSplit(
  source: PartitionSource,
  isWithdrawn: () => boolean,
  mark?: string,
): PartitionSource {
  return {
    partition: source.partition,
    route: { route: "SPLIT", why: "", parts: 1 },
    get bytes() {
      return source.bytes;
    },
    get events() {
      return source.events;
    },
    originalBytes: 0,
    originalEvents: 0,
    millis: 0,
    isWithdrawn: async () => isWithdrawn(),
    next: async () => {
      const first = await source.next();
      // A split that was withdrawn before a fetch is not asked.
      if (first === undefined || mark === undefined || isWithdrawn()) return first;
      // A block may have more events than a page.
      const second = await source.next();
      return marked(second === undefined ? [first] : [first, second], mark);
    },
    close: () => source.close(),
  };
}

/** The same events as one run, with an item of their own. */
function marked(runs: readonly Run[], mark: string): Run {
  const items = [{ key: utf8("from"), value: utf8(mark) }];
  const events = runs.flatMap((run) => [...eventsOfRun(run)]);
  const chunks = events.map((event) => {
    const { time, id } = positionOf(event);
    const { bytes } = encodeEvent(utf8("s"), time, id, items);
    const frame = Buffer.alloc(frameLength(bytes.length));
    writeFrame(frame, 0, { ...event, bytes, start: 0, end: bytes.length });
    return frame;
  });
  const [first, last] = [events[0], events.at(-1)];
  ok(first !== undefined && last !== undefined);
  return {
    chunks,
    count: events.length,
    bytes: chunks.reduce((sum, { length }) => sum + length, 0),
    first: positionOf(first),
    last: positionOf(last),
  };
}
