import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { joinedSlices, staticView, viewSource } from "../../tests/support/static-view.ts";
import type { StaticViewOptions } from "../../tests/support/static-view.ts";
import { MemoryStore } from "../../tests/support/memory-store.ts";
import { settle, VirtualClock } from "../../tests/support/virtual-clock.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import { utf8 } from "../lib/bytes.ts";
import { ServiceError } from "../lib/errors.ts";
import type { NamespaceView } from "../model/namespace.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../model/namespace-config.ts";
import { OriginalOpener } from "../../tests/support/original-opener.ts";
import type { PartitionSource } from "../partition/partition-source.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { EventStore } from "../ports/event-store.ts";
import { encodeEvent } from "../wire/event-record.ts";
import { eventOfFrame, frameLength } from "../wire/frames.ts";
import { PageTokens } from "./page-tokens.ts";
import type { PartitionRead } from "../partition/partition-read.ts";
import { EventReader } from "./read-events.ts";
import type { ReadPage } from "./read-page.ts";
import { DEFAULT_READ_LIMITS } from "./read-limits.ts";
import type { ReadQuery } from "./read-query.ts";
import type { ReadLimits } from "./read-limits.ts";

const SECOND = 1_000_000;
const START = 1_790_000_000 * SECOND;
const never = new AbortController().signal;

test("R1: a read resumes after a short storage failure in the middle of a page, without gap or repeat", async () => {
  const fixture = await Fixture.open(30);
  let scans = 0;
  fixture.store.before = (call) => {
    if (call === "scan" && ++scans % 2 === 1) throw new ServiceError("STORAGE_UNAVAILABLE", "blip");
  };
  const page = fixture.read({ pageSize: 100 });
  await fixture.clock.advance(10_000);
  deepEqual(idsOf(await page), fixture.ids(30));
});

test("R1: a storage outage is an error, not an empty page", async () => {
  const fixture = await Fixture.open(3);
  fixture.store.before = (call) => {
    if (call === "scan") throw new ServiceError("STORAGE_UNAVAILABLE", "down");
  };
  const page = fixture.read({});
  page.catch(() => undefined);
  await fixture.clock.advance(10_000);
  await rejects(page, code("STORAGE_UNAVAILABLE"));
});

test("R2: at the latency limit a caller that allows it gets a partial page, in order, and continues without gap or repeat", async () => {
  const fixture = await Fixture.open(30);
  // The bucket of the first events answers at once, every later one takes longer than the limit.
  fixture.store.before = async (call) => {
    if (call === "scan" && fixture.scans++ > 0) await fixture.clock.sleep(1_400);
  };
  const seen: string[] = [];
  let pageToken = "";
  let partials = 0;
  do {
    const pending = fixture.read({ pageSize: 100, allowPartial: true, pageToken });
    await fixture.clock.advance(2_000);
    const page = await pending;
    seen.push(...idsOf(page));
    if (page.context.partial) {
      partials++;
      equal(page.context.partialReason, "slos.read.max of 1s is over");
      ok(page.nextPageToken !== "", "a partial answer can be continued");
    }
    pageToken = page.nextPageToken;
    fixture.scans = 0;
  } while (pageToken !== "");
  deepEqual(seen, fixture.ids(30));
  ok(partials > 0);
});

test("R2: a partial answer never comes without progress", async () => {
  const fixture = await Fixture.open(30);
  fixture.store.before = async (call) => {
    if (call === "scan") await fixture.clock.sleep(1_500);
  };
  const pending = fixture.read({ pageSize: 100, allowPartial: true });
  await fixture.clock.advance(1_400);
  await fixture.clock.advance(1_700);
  const page = await pending;
  ok(page.context.partial);
  ok(page.count > 0, "it waited for the first events");
});

test("without partial returns a page continues until it is full, however long that takes", async () => {
  const fixture = await Fixture.open(30);
  fixture.store.before = async (call) => {
    if (call === "scan") await fixture.clock.sleep(3_000);
  };
  const pending = fixture.read({ pageSize: 100 });
  await fixture.clock.advance(60_000);
  const page = await pending;
  equal(page.context.partial, false);
  deepEqual(idsOf(page), fixture.ids(30));
});

test("R8: a caller that leaves ends the scans and releases their memory", async () => {
  const fixture = await Fixture.open(30);
  let ended = 0;
  const scan = fixture.store.scan.bind(fixture.store);
  fixture.store.scan = async function* (partition, range, signal) {
    try {
      await new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
      });
      yield* scan(partition, range, signal);
    } finally {
      ended++;
    }
  };
  const leaving = new AbortController();
  const page = fixture.read({}, leaving.signal);
  page.catch(() => undefined);
  await settle();
  leaving.abort(new ServiceError("DEADLINE_EXCEEDED", "gone"));
  await rejects(page, code("DEADLINE_EXCEEDED"));
  equal(ended, 1);
  await settle();
  equal(fixture.budget.used, 0);
});

test("R8: leaving a stream early ends it and releases its memory", async () => {
  const fixture = await Fixture.open(30);
  for await (const page of fixture.reader.stream(fixture.query({ pageSize: 2 }), never)) {
    equal(page.count, 2);
    ok(fixture.budget.used > 0, "the memory of a stream counts (C20)");
    break;
  }
  await settle();
  equal(fixture.budget.used, 0);
});

test("every scan that was opened is closed, including those read ahead or of a failed page", async () => {
  const fixture = await Fixture.open(30);
  const open = new Set<object>();
  const scan = fixture.store.scan.bind(fixture.store);
  fixture.store.scan = (partition, range, signal) => {
    const runs = scan(partition, range, signal)[Symbol.asyncIterator]();
    const next = async () => {
      open.add(runs);
      const result = await runs.next();
      if (result.done === true) open.delete(runs);
      return result;
    };
    const leave = async () => {
      open.delete(runs);
      return { done: true as const, value: undefined };
    };
    return { [Symbol.asyncIterator]: () => ({ next, return: leave }) };
  };
  // Empty buckets before the events make it read ahead; then the page is full at once.
  const early = { start: START - 600 * SECOND, order: "OLDEST_FIRST" as const };
  fixture.view = { ...fixture.view, slices: [...earlierSlices(), ...fixture.view.slices] };
  for (const pageSize of [1, 3, 7]) {
    await fixture.read({ ...early, pageSize });
    equal(open.size, 0, `pages of ${pageSize}`);
    for await (const page of fixture.reader.stream(fixture.query({ ...early, pageSize }), never)) {
      if (page.count > 0) break;
    }
    equal(open.size, 0, `streams in pages of ${pageSize}`);
  }
});

test("R15: an expired deadline means no work at the store", async () => {
  const fixture = await Fixture.open(3);
  let calls = 0;
  fixture.store.before = () => void calls++;
  const over = AbortSignal.abort(new ServiceError("DEADLINE_EXCEEDED", "the deadline has passed"));
  await rejects(fixture.read({}, over), code("DEADLINE_EXCEEDED"));
  equal(calls, 0);
});

test("R10, Z22: a long interval over many empty buckets is answered in bounded pages that make progress", async () => {
  const fixture = await Fixture.open(30, {}, { pagePartitionsMax: 1 });
  const query = { start: 0, end: 4 * START, pageSize: 1_000 };
  let pageToken = "";
  const seen: string[] = [];
  let pages = 0;
  do {
    const page = await fixture.read({ ...query, pageToken });
    ok(page.context.partitionsRead <= 1);
    equal(page.context.partial, false);
    seen.push(...idsOf(page));
    pageToken = page.nextPageToken;
    pages++;
  } while (pageToken !== "");
  deepEqual(seen, fixture.ids(30));
  ok(pages >= 6);
});

test("C27: other work runs while a read goes through very many buckets", async () => {
  // The store answers at once: the read itself has to let others run.
  const fixture = await Fixture.open(0, { slices: shortBuckets(100_000) });
  let turns = 0;
  let done = false;
  const count = (): void => {
    turns++;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  const pages = await Promise.all(
    Array.from({ length: 40 }, () => fixture.read({ end: START + 100_000 * SECOND })),
  );
  done = true;
  const partitions = pages.reduce((sum, page) => sum + page.context.partitionsRead, 0);
  ok(partitions >= 40 * 100, `they read ${partitions} partitions`);
  ok(turns >= partitions / 40 / 32, `others had ${turns} turns`);
});

test("C27: a page of very many buckets ends early, and the next one waits for its turn again", async () => {
  const fixture = await Fixture.open(0, { slices: shortBuckets(100_000) });
  const page = await fixture.read({ end: START + 100_000 * SECOND });
  equal(page.count, 0);
  ok(page.nextPageToken !== "");
  ok(page.context.partitionsRead <= 1_000);
});

test("C27: on slow storage a page ends early as soon as it has asked some partitions", async () => {
  const fixture = await Fixture.open(0, { slices: shortBuckets(100_000) });
  fixture.store.before = (call) => (call === "scan" ? fixture.clock.sleep(10) : undefined);
  const pending = fixture.read({ end: START + 100_000 * SECOND });
  await fixture.clock.advance(60_000);
  const { nextPageToken, context } = await pending;
  ok(nextPageToken !== "");
  equal(context.partial, false);
  ok(context.partitionsRead >= 64 && context.partitionsRead < 500, `${context.partitionsRead}`);
});

for (const order of ["OLDEST_FIRST", "NEWEST_FIRST"] as const) {
  test(`a storage that can search spares a read the empty buckets, ${order}`, async () => {
    const fixture = await Fixture.open(0, { slices: shortBuckets(100_000, 100_000) });
    const at = [0, 1, 2, 7, 50_000, 50_003, 99_999, 100_000, 150_000, 199_999];
    await fixture.writeAt(at);
    const searches = fixture.searchAmong(at);
    const end = START + 200_000 * SECOND;
    for (const pageSize of [1, 3, 100]) {
      searches.length = 0;
      const seen: string[] = [];
      let partitions = 0;
      let pageToken = "";
      do {
        const page = await fixture.read({ order, end, pageSize, pageToken });
        seen.push(...idsOf(page));
        partitions += page.context.partitionsRead;
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
      const ids = at.map((_, n) => idOf(n));
      deepEqual(seen, order === "OLDEST_FIRST" ? ids : ids.toReversed());
      ok(partitions + searches.length <= 100, `${partitions} + ${searches.length}`);
    }
  });
}

test("a search that fails for a while leaves the read as it was", async () => {
  const fixture = await Fixture.open(0, { slices: shortBuckets(500) });
  await fixture.writeAt([3, 400]);
  fixture.search.findTimeBucket = async () => {
    throw new ServiceError("STORAGE_UNAVAILABLE", "blip");
  };
  const page = await fixture.read({ end: START + 500 * SECOND });
  deepEqual(idsOf(page), [idOf(1), idOf(0)]);
});

test("E7, C12: a namespace created again under its name refuses the tokens of the previous one", async () => {
  const fixture = await Fixture.open(30);
  const { nextPageToken: pageToken } = await fixture.read({ pageSize: 5 });
  equal((await fixture.read({ pageSize: 5, pageToken })).count, 5);
  fixture.view = { ...fixture.view, namespace: { ...fixture.view.namespace, id: "plays-2" } };
  await rejects(fixture.read({ pageSize: 5, pageToken }), code("PAGE_TOKEN_INVALID"));
});

test("R11: all problems of a query are reported at once", async () => {
  const fixture = await Fixture.open(0);
  const bad = fixture.read({ seriesId: "", start: 5, end: 5, pageSize: 10_001 });
  await rejects(bad, (error: unknown) => {
    ok(error instanceof ServiceError);
    equal(error.code, "REQUEST_INVALID");
    equal((error.details["problems"] as string[]).length, 3);
    return true;
  });
});

test("R16, X11, O4: many callers of one id wait in order within the memory for reads", async () => {
  const fixture = await Fixture.open(30);
  let running = 0;
  let most = 0;
  const scan = fixture.store.scan.bind(fixture.store);
  fixture.store.scan = async function* (partition, range, signal) {
    running++;
    most = Math.max(most, running);
    await settle();
    try {
      yield* scan(partition, range, signal);
    } finally {
      running--;
    }
  };
  const pages = await Promise.all(
    Array.from({ length: 200 }, () => fixture.read({ pageSize: 10 })),
  );
  for (const page of pages) deepEqual(idsOf(page), fixture.ids(30).slice(0, 10));
  // 1 MiB for reads, 128 KiB each.
  ok(most <= 8 * DEFAULT_READ_LIMITS.aheadMax, `${most} scans at once`);
});

test("R17: an id without events is an empty answer", async () => {
  const fixture = await Fixture.open(3);
  const page = await fixture.read({ seriesId: "nobody" });
  equal(page.count, 0);
  equal(page.nextPageToken, "");
});

test("a blocked id is refused with the reason, also in the middle of a stream", async () => {
  const fixture = await Fixture.open(30);
  const seriesId = "s";
  const block = { seriesId, reason: "spam", blockedAt: 0, source: "API" as const };
  await rejects(async () => {
    for await (const page of fixture.reader.stream(fixture.query({ pageSize: 2 }), never)) {
      equal(page.count, 2);
      const blocked = new Map([[seriesId, { ...block, expiresAt: undefined }]]);
      fixture.view = { ...fixture.view, blocked };
    }
  }, code("ID_BLOCKED"));
  await rejects(fixture.read({}), /spam/);
});

for (const { when, madeAt } of [
  { when: "between two pages of a stream", madeAt: 1 },
  { when: "while the last page of a stream is read", madeAt: 2 },
]) {
  test(`C12: a namespace made again under its name ${when} ends the stream with an error`, async () => {
    const fixture = await Fixture.open(30);
    let pages = 0;
    const reading = async (): Promise<void> => {
      for await (const page of fixture.reader.stream(fixture.query({ pageSize: 10 }), never)) {
        equal(page.count, 10);
        if (++pages === madeAt) await fixture.makeAgain();
      }
    };
    await rejects(reading(), code("NAMESPACE_NOT_FOUND"));
    equal(pages, madeAt);
    await settle();
    equal(fixture.budget.used, 0);
  });
}

test("C12: a namespace made again under its name while a page is read fails the page and its explanation", async () => {
  const fixture = await Fixture.open(30);
  const namespaceOfBefore = fixture.view;
  fixture.store.before = async (call) => {
    if (call === "scan" && fixture.scans++ === 2) await fixture.makeAgain();
  };
  await rejects(fixture.read({ pageSize: 100 }), code("NAMESPACE_NOT_FOUND"));
  fixture.view = namespaceOfBefore;
  fixture.scans = 0;
  const explained = fixture.reader.explain(fixture.query({ pageSize: 100 }), never);
  await rejects(explained, code("NAMESPACE_NOT_FOUND"));
});

test("E1: a slice that is dropped between two pages no longer appears", async () => {
  const fixture = await Fixture.open(30);
  const first = await fixture.read({ pageSize: 5, order: "OLDEST_FIRST" });
  fixture.view = { ...fixture.view, slices: fixture.view.slices.slice(1) };
  const rest = await fixture.read({
    pageSize: 100,
    order: "OLDEST_FIRST",
    pageToken: first.nextPageToken,
  });
  deepEqual(idsOf(rest), fixture.ids(30).toReversed().slice(10));
});

test("an explanation shows what was read, by which route, and what was not reached", async () => {
  const fixture = await Fixture.open(30);
  const told = await fixture.reader.explain(fixture.query({ pageSize: 7 }), never);
  deepEqual(told.slices, [
    { timeSlice: "data_0", timeBuckets: 2 },
    { timeSlice: "data_1", timeBuckets: 2 },
    { timeSlice: "data_2", timeBuckets: 2 },
  ]);
  equal(told.totals.partitions, 6);
  equal(told.totals.eventsReturned, 7);
  equal(told.partitions.length, 6);
  deepEqual(
    told.partitions.map((partition) => partition.read),
    [true, true, false, false, false, false],
  );
  const [newest] = told.partitions;
  equal(newest?.route, "ORIGINAL_NOT_SPLIT");
  equal(newest?.timeSlice, "data_2");
  equal(newest?.events, 5);
});

test("an explanation reads up to the total limit, and a partition of two pages counts once", async () => {
  const fixture = await Fixture.open(30, {}, { pageEventsMax: 7 });
  const told = await fixture.reader.explain(fixture.query({ totalLimit: 23 }), never);
  equal(told.totals.eventsReturned, 23);
  equal(told.totals.partitionsRead, 5);
  deepEqual(
    told.partitions.map(({ timeSlice, timeBucket, read }) => `${timeSlice}/${timeBucket} ${read}`),
    [
      "data_2/1 true",
      "data_2/0 true",
      "data_1/1 true",
      "data_1/0 true",
      "data_0/1 true",
      "data_0/0 false",
    ],
  );
  const events = told.partitions.reduce((sum, partition) => sum + partition.events, 0);
  equal(told.totals.events, events);
  const bytes = told.partitions.reduce((sum, partition) => sum + partition.bytes, 0);
  equal(told.totals.bytes, bytes);
  const all = await fixture.reader.explain(fixture.query({ totalLimit: 1_000 }), never);
  equal(all.totals.eventsReturned, 30);
  equal(all.totals.partitionsRead, all.totals.partitions);
});

test("an explanation of a later page leaves out what earlier pages have read", async () => {
  const fixture = await Fixture.open(30);
  const { nextPageToken: pageToken } = await fixture.read({ pageSize: 12 });
  const told = await fixture.reader.explain(fixture.query({ pageSize: 12, pageToken }), never);
  deepEqual(
    told.partitions.map(({ timeSlice, timeBucket, read }) => `${timeSlice}/${timeBucket} ${read}`),
    ["data_1/1 true", "data_1/0 true", "data_0/1 true", "data_0/0 false"],
  );
});

test("C10: of four event buckets with three split, only the fourth is found wide, on every page", async () => {
  const { widePartition } = DEFAULT_NAMESPACE_CONFIG;
  const strategy = { secondsPerTimeSlice: 60, secondsPerTimeBucket: 60, eventBuckets: 4 };
  const fixture = await Fixture.open(0, {
    slices: joinedSlices(START, [strategy]),
    config: { widePartition: { ...widePartition, eventsMax: 10 } },
  });
  let bytes = 0;
  for (let n = 0; n < 60; n++) {
    const event = encodeEvent(utf8("s"), START + n * SECOND, utf8(idOf(n)), []);
    if (n % 4 === 2) bytes += frameLength(event.end - event.start);
    const slice = { namespaceId: "plays-1", slice: "data_0" };
    await fixture.store.append(slice, [{ event, timeBucket: 0, eventBucket: n % 4 }]);
  }
  fixture.opened = (source) => (source.partition.eventBucket === 2 ? source : asSplit(source));
  for (const pageSize of [60, 7]) {
    fixture.reads.length = 0;
    let pageToken = "";
    let wide = false;
    do {
      const page = await fixture.read({ pageSize, pageToken });
      wide ||= page.wide;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    const most = [0, 1, 2, 3].map((eventBucket) =>
      fixture.reads
        .filter(({ partition }) => partition.eventBucket === eventBucket)
        .reduce((events, read) => Math.max(events, read.events), 0),
    );
    const [first, second, third = 0, fourth] = most;
    const widest = Math.max(...fixture.reads.map((read) => read.bytes));
    ok(Math.abs(widest - bytes) <= (pageSize === 60 ? 0 : bytes / 5), `${widest} of ${bytes}`);
    deepEqual([first, second, fourth, wide], [0, 0, 0, true], `pages of ${pageSize}`);
    // It has 15; events for which a page had no room are counted by their share, rounded.
    ok(Math.abs(third - 15) <= (pageSize === 60 ? 0 : 3), `${third} of 15, pages of ${pageSize}`);
  }
});

test("D30: a read beyond the slices this server knows asks whether others have made more", async () => {
  const fixture = await Fixture.open(30);
  const whole = fixture.view;
  fixture.newView = whole;
  fixture.view = { ...whole, slices: whole.slices.slice(0, 2) };
  deepEqual(
    idsOf(await fixture.read({ end: START + 40 * SECOND, pageSize: 100 })),
    fixture.ids(20),
  );
  equal(fixture.refreshes, 0);
  deepEqual(idsOf(await fixture.read({ pageSize: 100 })), fixture.ids(30));
  equal(fixture.refreshes, 1);
});

/** Three slices of two buckets of 10 seconds; one event every 2 seconds, the id is its number. */
test("a page asks storage for exactly the events it still takes; a stream and a filter ask for all", async () => {
  const fixture = await Fixture.open(30);
  const scan = fixture.store.scan.bind(fixture.store);
  const wanted: (number | undefined)[] = [];
  fixture.store.scan = (partition, range, signal) => {
    wanted.push(range.eventsWanted);
    return scan(partition, range, signal);
  };
  // Five events lie in each time bucket.
  equal(idsOf(await fixture.read({ pageSize: 7 })).length, 7);
  deepEqual(wanted.splice(0), [7, 2]);
  await fixture.read({ pageSize: 100, totalLimit: 6 });
  deepEqual(wanted.splice(0), [6, 1]);
  const filters = [{ key: utf8("k"), value: utf8("v") }];
  await fixture.read({ pageSize: 7, filters });
  ok(wanted.length > 0 && wanted.splice(0).every((events) => events === undefined));
  await Array.fromAsync(fixture.reader.stream(fixture.query({ pageSize: 7 }), never));
  ok(wanted.length > 0 && wanted.every((events) => events === undefined));
});

class Fixture {
  readonly clock = new VirtualClock(START + 60 * SECOND);
  readonly store = new MemoryStore();
  readonly search: Pick<EventStore, "findTimeBucket"> = {};
  readonly budget = new ByteBudget(1 << 20);
  readonly reader: EventReader;
  view: NamespaceView;
  /** What the catalog has by now. */
  newView: NamespaceView | undefined;
  refreshes = 0;
  scans = 0;
  /** Every partition that was read. */
  readonly reads: PartitionRead[] = [];
  /** What the opener returns instead of an original. */
  opened: (source: PartitionSource) => PartitionSource = (source) => source;

  constructor(options: Partial<StaticViewOptions>, limits: Partial<ReadLimits>) {
    const strategy = { secondsPerTimeSlice: 20, secondsPerTimeBucket: 10, eventBuckets: 1 };
    const slices = joinedSlices(START, [strategy, strategy, strategy]);
    this.view = staticView({ slices, ...options });
    const { clock, store, budget } = this;
    const opener = new OriginalOpener(store, clock);
    this.reader = new EventReader({
      clock,
      views: viewSource(() => this.view),
      search: this.search,
      opener: {
        open: (...asked) => this.opened(opener.open(...asked)),
        explain: () => opener.explain(),
      },
      budget,
      streamBudget: budget,
      tokens: new PageTokens(new Uint8Array(32)),
      limits: { ...DEFAULT_READ_LIMITS, ...limits },
      others: {
        clockSkewMicros: SECOND,
        refreshView: async () => {
          this.refreshes++;
          this.view = this.newView ?? this.view;
        },
      },
      onPartitionRead: (read) => this.reads.push(read),
    });
  }

  static async open(
    events: number,
    options: Partial<StaticViewOptions> = {},
    limits: Partial<ReadLimits> = {},
  ): Promise<Fixture> {
    const fixture = new Fixture(options, limits);
    for (const slice of fixture.view.slices) {
      await fixture.store.createSlice({ namespaceId: "plays-1", slice: slice.name });
    }
    for (let n = 0; n < events; n++) {
      const time = START + 2 * n * SECOND;
      const event = encodeEvent(utf8("s"), time, utf8(idOf(n)), []);
      const slice = { namespaceId: "plays-1", slice: `data_${Math.floor(n / 10)}` };
      await fixture.store.append(slice, [
        { event, timeBucket: Math.floor((n % 10) / 5), eventBucket: 0 },
      ]);
    }
    return fixture;
  }

  /** An event at each of these seconds, in slices with buckets of a second. */
  async writeAt(seconds: readonly number[]): Promise<void> {
    for (const [n, second] of seconds.entries()) {
      const time = START + second * SECOND;
      const slice = this.view.slices.find((each) => time >= each.start && time < each.end);
      ok(slice !== undefined);
      const event = encodeEvent(utf8("s"), time, utf8(idOf(n)), []);
      const timeBucket = (time - slice.start) / SECOND;
      await this.store.append({ namespaceId: "plays-1", slice: slice.name }, [
        { event, timeBucket, eventBucket: 0 },
      ]);
    }
  }

  /** Searches the events at these seconds; returns the slices that were searched. */
  searchAmong(seconds: readonly number[]): string[] {
    const searched: string[] = [];
    this.search.findTimeBucket = async (series, { first, last, order }) => {
      searched.push(series.slice);
      const slice = this.view.slices.find(({ name }) => name === series.slice);
      ok(slice !== undefined && series.seriesId === "s");
      const from = (slice.start - START) / SECOND;
      const inside = seconds
        .map((second) => second - from)
        .filter((bucket) => bucket >= first && bucket <= last);
      return order === "OLDEST_FIRST" ? inside[0] : inside.at(-1);
    };
    return searched;
  }

  /** Deletes the namespace and creates an empty one under the same name. */
  async makeAgain(): Promise<void> {
    for (const { name } of this.view.slices) {
      await this.store.dropSlice({ namespaceId: "plays-1", slice: name });
    }
    this.view = { ...this.view, namespace: { ...this.view.namespace, id: "plays-2" } };
  }

  query(change: Partial<ReadQuery>): ReadQuery {
    return {
      namespace: "plays",
      seriesId: "s",
      start: START,
      end: START + 60 * SECOND,
      filters: [],
      order: "NEWEST_FIRST",
      pageSize: 0,
      totalLimit: 0,
      pageToken: "",
      allowPartial: false,
      ...change,
    };
  }

  read(change: Partial<ReadQuery>, signal: AbortSignal = never): Promise<ReadPage> {
    return this.reader.readPage(this.query(change), signal);
  }

  /** Newest first. */
  ids(count: number): string[] {
    return Array.from({ length: count }, (_, n) => idOf(n)).toReversed();
  }
}

/** The same events, as if they came from a split. */
function asSplit(source: PartitionSource): PartitionSource {
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
    isWithdrawn: async () => false,
    next: () => source.next(),
    close: () => source.close(),
  };
}

/** Slices of so many seconds each, in buckets of a second. */
function shortBuckets(...seconds: readonly number[]): TimeSlice[] {
  return joinedSlices(
    START,
    seconds.map((secondsPerTimeSlice) => ({
      secondsPerTimeSlice,
      secondsPerTimeBucket: 1,
      eventBuckets: 1,
    })),
  );
}

/** Ten empty minutes before the first event, in buckets of a minute. */
function earlierSlices() {
  const strategy = { secondsPerTimeSlice: 600, secondsPerTimeBucket: 60, eventBuckets: 1 };
  return joinedSlices(START - 600 * SECOND, [strategy]).map((slice) => ({
    ...slice,
    name: "data_early",
  }));
}

function idOf(n: number): string {
  return String(n).padStart(3, "0");
}

function idsOf(page: ReadPage): string[] {
  return page.chunks.map((chunk) => {
    const event = eventOfFrame(chunk, 0);
    ok(event !== undefined);
    return Buffer.from(chunk.subarray(event.idStart, event.idEnd)).toString();
  });
}

function code(expected: string) {
  return (error: unknown): boolean => error instanceof ServiceError && error.code === expected;
}
