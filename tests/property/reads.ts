/**
 * Whatever was written, however it is read: the answer equals that of a plain sorted list.
 *
 * Runs against any engine: each engine's test calls it with its own store.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import fc from "fast-check";
import { ByteBudget } from "../../src/lib/byte-budget.ts";
import { compareBytes, utf8 } from "../../src/lib/bytes.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { OriginalOpener } from "../support/original-opener.ts";
import type { EventStore } from "../../src/ports/event-store.ts";
import { PageTokens } from "../../src/read/page-tokens.ts";
import type { PartitionRead } from "../../src/partition/partition-read.ts";
import { EventReader } from "../../src/read/read-events.ts";
import type { ReadPage } from "../../src/read/read-page.ts";
import { DEFAULT_READ_LIMITS } from "../../src/read/read-limits.ts";
import type { ReadQuery } from "../../src/read/read-query.ts";
import { encodeEvent, itemsOf } from "../../src/wire/event-record.ts";
import type { EventBytes } from "../../src/wire/event-record.ts";
import { eventsOfRun } from "../../src/wire/frames.ts";
import type { Position, Run } from "../../src/wire/frames.ts";
import { EventWriter } from "../../src/write/write-events.ts";
import { joinedSlices, staticView, viewSource } from "../support/static-view.ts";

export const SECOND = 1_000_000;
export const START = 1_790_000_040 * SECOND;

/**
 * Ids whose UTF-16 and UTF-8 orders differ, prefixes of one another, NUL, and lengths around a
 * byte.
 */
export const EVENT_IDS = [
  "a",
  "ab",
  "b",
  "\0",
  "\u{1F600}",
  "\uFFFD",
  "\uE000",
  "é",
  "x".repeat(130),
];

export interface ModelEvent {
  readonly series: string;
  readonly time: number;
  readonly id: string;
  readonly device: string;
  readonly padding: number;
}

export const strategy = fc
  .tuple(fc.constantFrom(1, 2, 3, 4), fc.constantFrom(5, 10, 20), fc.constantFrom(1, 2, 5))
  .map(([buckets, secondsPerTimeBucket, eventBuckets]) => ({
    secondsPerTimeSlice: buckets * secondsPerTimeBucket,
    secondsPerTimeBucket,
    eventBuckets,
  }));

/** Microseconds from START; often the same one, or at or next to an edge of a bucket. */
const offset = fc.oneof(
  fc.nat({ max: 100 * SECOND }),
  fc.constantFrom(0, 7 * SECOND, 20 * SECOND),
  fc.tuple(fc.nat({ max: 20 }), fc.constantFrom(-1, 0, 1)).map(([n, d]) => n * 5 * SECOND + d),
);

export const event = fc.record({
  series: fc.constantFrom("s", "sa", "\u{1F600}"),
  offset,
  id: fc.constantFrom(...EVENT_IDS),
  device: fc.constantFrom("ios", "tv", ""),
  padding: fc.oneof({ weight: 9, arbitrary: fc.nat(40) }, { weight: 1, arbitrary: fc.nat(9000) }),
});

export const query = fc.record({
  series: fc.constantFrom("s", "sa", "\u{1F600}", "unknown"),
  from: offset,
  length: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 120 * SECOND })),
  order: fc.constantFrom<ReadQuery["order"]>("NEWEST_FIRST", "OLDEST_FIRST"),
  pageSize: fc.integer({ min: 0, max: 12 }),
  totalLimit: fc.oneof(fc.constant(0), fc.nat(30)),
  filter: fc.constantFrom(undefined, "ios", "tv", "", "none"),
});

type AnyQuery = typeof query extends fc.Arbitrary<infer Q> ? Q : never;

export function readQueryOf(q: AnyQuery): ReadQuery {
  return {
    namespace: "plays",
    seriesId: q.series,
    start: START + q.from,
    end: START + q.from + q.length,
    filters: q.filter === undefined ? [] : [{ key: utf8("device"), value: utf8(q.filter) }],
    order: q.order,
    pageSize: q.pageSize,
    totalLimit: q.totalLimit,
    pageToken: "",
    allowPartial: false,
  };
}

/** More event buckets for one id, from some time on. */
const steps = fc.oneof(
  fc.constant([]),
  fc.tuple(offset, offset).map(([a, b]) => [
    { from: START + Math.min(a, b), factor: 2 },
    { from: START + Math.max(a, b), factor: 6 },
  ]),
);

const world = fc.record({
  steps,
  strategies: fc.array(strategy, { minLength: 1, maxLength: 4 }),
  batches: fc.array(fc.array(event, { maxLength: 60 }), { minLength: 1, maxLength: 4 }),
  queries: fc.array(query, { minLength: 1, maxLength: 6 }),
  pageBytesMax: fc.constantFrom(300, 2_000, 3 * 1024 * 1024),
  pagePartitionsMax: fc.constantFrom(1, 3, 10_000),
});

/**
 * `openStore` returns a fresh store each time; `numRuns` worlds are tried, and a failure prints the
 * seed.
 */
export async function readsEqualTheModel(
  openStore: () => Promise<EventStore & { dispose(): Promise<void> }>,
  numRuns: number,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(world, async (input) => {
      const store = await openStore();
      try {
        await checkWorld(store, input);
      } finally {
        await store.dispose();
      }
    }),
    { numRuns },
  );
}

type WorldInput = typeof world extends fc.Arbitrary<infer T> ? T : never;

async function checkWorld(store: EventStore, input: WorldInput): Promise<void> {
  const slices = joinedSlices(START, input.strategies);
  const end = slices.at(-1)?.end ?? START;
  const hour = 3600 * SECOND;
  const clock: Clock = { ...systemClock, nowMicros: () => end };
  const view = staticView({
    slices,
    config: { acceptLimitMicros: hour, futureLimitMicros: hour },
    idStrategies: new Map([["s", input.steps]]),
  });
  const views = viewSource(() => view);
  for (const slice of slices) {
    await store.createSlice({ namespaceId: "plays-1", slice: slice.name });
  }

  const writer = new EventWriter({ clock, store, views, budget: new ByteBudget(1 << 26) });
  const model = new Map<string, ModelEvent>();
  for (const batch of input.batches) {
    const events = batch
      .map(({ offset: at, ...rest }) => ({ ...rest, time: START + at }))
      // The engines decide between the same identity with different bytes (rule C21): here the
      // first one is used.
      .filter((e) => e.time >= START && !model.has(keyOf(e)) && model.set(keyOf(e), e));
    const result = await writer.write(
      { namespace: "plays", events: events.map(encode), bytes: 1000 },
      new AbortController().signal,
    );
    const inside = events.filter((e) => e.time < end);
    equal(result.taken, inside.length);
    for (const e of events) if (e.time >= end) model.delete(keyOf(e));
    // A repeat of the whole batch changes nothing.
    await writer.write(
      { namespace: "plays", events: events.map(encode), bytes: 1000 },
      new AbortController().signal,
    );
  }

  const seen: PartitionRead[] = [];
  const reader = new EventReader({
    clock,
    views,
    opener: new OriginalOpener(store, clock),
    search: store,
    budget: new ByteBudget(1 << 26),
    streamBudget: new ByteBudget(1 << 26),
    tokens: new PageTokens(new Uint8Array(32)),
    limits: {
      ...DEFAULT_READ_LIMITS,
      pageSizeDefault: 5,
      pageBytesMax: input.pageBytesMax,
      streamPageBytes: input.pageBytesMax,
      pagePartitionsMax: input.pagePartitionsMax,
    },
    onPartitionRead: (read) => seen.push(read),
  });
  for (const q of input.queries) {
    const readQuery = readQueryOf(q);
    const expected = answerOf(model, readQuery, q.filter);
    deepEqual(await readAllPages(reader, readQuery, input.pageBytesMax), expected);
    deepEqual(await streamAll(reader, readQuery), expected);
    // With several merged partitions, earlier pages are counted by even shares.
    if (input.steps.length === 0 && input.strategies.every((s) => s.eventBuckets === 1)) {
      await checkCounts(reader, readQuery, seen, model);
    }
  }
}

/** Width is counted across pages: a partition's last figure equals that of one whole read. */
async function checkCounts(
  reader: EventReader,
  query: ReadQuery,
  seen: PartitionRead[],
  model: ReadonlyMap<string, ModelEvent>,
): Promise<void> {
  seen.length = 0;
  const whole = { ...query, filters: [], totalLimit: 0, pageSize: 1 };
  await readAllPages(reader, whole, Number.POSITIVE_INFINITY);
  const last = new Map(
    seen.map((read) => [`${read.partition.slice}/${read.partition.timeBucket}`, read.events]),
  );
  const counted = [...last.values()].reduce((sum, events) => sum + events, 0);
  equal(counted, answerOf(model, whole, undefined).length);
}

export async function readAllPages(
  reader: EventReader,
  query: ReadQuery,
  pageBytesMax: number,
  between: () => void | Promise<void> = () => undefined,
): Promise<unknown[]> {
  const events: unknown[] = [];
  let pageToken = "";
  for (let pages = 0; ; pages++) {
    ok(pages < 5_000, "reading ends");
    const page = await reader.readPage({ ...query, pageToken }, new AbortController().signal);
    const bytes = page.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    ok(bytes <= pageBytesMax || page.count === 1, "a page is bounded in bytes");
    ok(page.count <= (query.pageSize === 0 ? 5 : query.pageSize), "a page is bounded in events");
    events.push(...eventsOf(page));
    pageToken = page.nextPageToken;
    if (pageToken === "") return events;
    await between();
  }
}

export async function streamAll(
  reader: EventReader,
  query: ReadQuery,
  between: () => void | Promise<void> = () => undefined,
): Promise<unknown[]> {
  const events: unknown[] = [];
  for await (const page of reader.stream(query, new AbortController().signal)) {
    events.push(...eventsOf(page));
    await between();
  }
  return events;
}

export function answerOf(
  model: ReadonlyMap<string, ModelEvent>,
  query: ReadQuery,
  device: string | undefined,
): unknown[] {
  const matching = [...model.values()]
    .filter((e) => e.series === query.seriesId && e.time >= query.start && e.time < query.end)
    .filter((e) => device === undefined || e.device === device)
    .toSorted((a, b) => a.time - b.time || compareBytes(utf8(a.id), utf8(b.id)));
  if (query.order === "NEWEST_FIRST") matching.reverse();
  const limited = query.totalLimit === 0 ? matching : matching.slice(0, query.totalLimit);
  return limited.map((e) => [e.series, e.time, e.id, e.device, e.padding]);
}

export function eventsOf(page: ReadPage): unknown[] {
  const nowhere: Position = { time: 0, id: new Uint8Array() };
  const run: Run = { ...page, bytes: 0, first: nowhere, last: nowhere };
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
  const events = [...eventsOfRun(run)].map((found) => {
    const items = [...itemsOf(found)];
    return [
      text(found.bytes.subarray(found.seriesStart, found.seriesEnd)),
      found.time,
      text(found.bytes.subarray(found.idStart, found.idEnd)),
      text(items[0]?.value ?? new Uint8Array()),
      items[1]?.value.length,
    ];
  });
  equal(events.length, page.count);
  return events;
}

export function encode(e: ModelEvent): EventBytes {
  return encodeEvent(utf8(e.series), e.time, utf8(e.id), [
    { key: utf8("device"), value: utf8(e.device) },
    { key: utf8("padding"), value: new Uint8Array(e.padding) },
  ]);
}

export function keyOf(e: ModelEvent): string {
  return JSON.stringify([e.series, e.time, e.id]);
}
