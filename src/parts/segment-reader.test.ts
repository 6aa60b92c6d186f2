import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { until } from "../../tests/support/conditions.ts";
import { storeAround } from "../../tests/support/busy-engine.ts";
import type { MemoryStore } from "../../tests/support/memory-store.ts";
import {
  anyEvents,
  anyRange,
  expected,
  framesOf,
  FROM,
  GENERATION,
  isHonest,
  newestFirst,
  ORIGINAL,
  readToEnd,
  runsOf,
  sameBytes,
  storeWithTable,
  testEvent,
  TO,
  WHOLE,
} from "../../tests/support/part-events.ts";
import type { TestEvent } from "../../tests/support/part-events.ts";
import { ServiceError } from "../lib/errors.ts";
import { SPLIT_LAYOUTS } from "../model/layouts.ts";
import type { PartRecord, RouteSegment } from "../model/split.ts";
import type { SplitLayout } from "../model/layouts.ts";
import type { EventStore } from "../ports/event-store.ts";
import { mergedBlockBytes, PartWriter } from "./part-writer.ts";
import type { PartReadRange } from "./part-reader.ts";
import { SegmentReader } from "./segment-reader.ts";

const never = new AbortController().signal;

interface Segmented {
  readonly store: MemoryStore;
  readonly segment: RouteSegment;
  readonly parts: readonly PartRecord[];
}

async function writeSegment(
  layout: SplitLayout,
  strategy: RouteSegment["strategy"],
  groups: readonly { from: number; to: number; events: readonly TestEvent[] }[],
  blockBytes?: number,
): Promise<Segmented> {
  const store = await storeWithTable();
  const parts: PartRecord[] = [];
  for (const [part, { from, to, events }] of groups.entries()) {
    const target = { store, partition: ORIGINAL, part, generation: GENERATION, layout };
    const writer = new PartWriter(blockBytes === undefined ? target : { ...target, blockBytes });
    for (const run of runsOf(events, 10, 4)) await writer.addRun(run);
    parts.push(await writer.finish(from, to));
  }
  const segment: RouteSegment = {
    from: FROM,
    to: TO,
    epoch: 0,
    generation: GENERATION,
    layout,
    strategy,
    partRanges: [{ start: 0, count: parts.length }],
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
    events: parts.reduce((sum, { events }) => sum + events, 0),
    confirmed: true,
  };
  return { store, segment, parts };
}

/** Parts in range order, cut at these times. */
function inOrder(
  layout: SplitLayout,
  events: readonly TestEvent[],
  cuts: readonly number[],
): Promise<Segmented> {
  const edges = [...new Set([FROM, ...cuts, TO])].toSorted((a, b) => b - a);
  const groups = edges.slice(1).map((from, i) => {
    const to = edges[i] as number;
    const inside = events.filter(({ position }) => position.time >= from && position.time < to);
    return { from, to, events: inside };
  });
  return writeSegment(layout, "EVENT_BUCKETS", groups);
}

function byHash(
  layout: SplitLayout,
  events: readonly TestEvent[],
  count: number,
): Promise<Segmented> {
  const groups = Array.from({ length: count }, (_, n) => ({
    from: FROM,
    to: TO,
    events: events.filter(({ frame }) => frame.length % count === n),
  }));
  return writeSegment(layout, "HASH", groups, mergedBlockBytes(count));
}

function readerOf({ store, segment, parts }: Segmented, range: PartReadRange): SegmentReader {
  return new SegmentReader(store, ORIGINAL, segment, parts, range, never);
}

/** Large enough for several blocks in each part. */
function manyEvents(count: number): TestEvent[] {
  return newestFirst(
    Array.from({ length: count }, (_, i) => testEvent(FROM + (i % 100), `id-${i}`, 5_000)),
  );
}

for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
  test(`a page of ten events from 64 merged parts fetches little of them, ${order}`, async () => {
    const events = newestFirst(
      Array.from({ length: 6_400 }, (_, i) =>
        testEvent(FROM + (i % 100), `id-${String(i).padStart(5, "0")}`, 300 + (i % 64)),
      ),
    );
    const written = await byHash("PACKED", events, 64);
    equal(written.parts.length, 64);
    ok(written.parts.every(({ blocks }) => blocks > 5));
    let fetched = 0;
    const store: EventStore = {
      ...storeAround(written.store, (call) => call()),
      async *scanBlocks(...of) {
        for await (const blocks of written.store.scanBlocks(...of)) {
          for (const { bytes } of blocks) fetched += bytes.length;
          yield blocks;
        }
      },
    };
    const range = { ...WHOLE, order, firstBytes: 10 * 400 };
    const { segment, parts } = written;
    const reader = new SegmentReader(store, ORIGINAL, segment, parts, range, never);
    let count = 0;
    while (count < 10) count += (await reader.next())?.count ?? NaN;
    await reader.close();
    ok(count >= 10);
    ok(fetched <= 256 * 1024, `${fetched} bytes`);
  });
}

const AHEAD: readonly Pick<PartReadRange, "subrangesAhead" | "onDemand">[] = [
  { subrangesAhead: 0 },
  { subrangesAhead: 1 },
  { subrangesAhead: 3 },
  { subrangesAhead: 2, onDemand: true },
];

for (const layout of SPLIT_LAYOUTS) {
  test(`X14: ${layout}: any range of any parts equals that of a plain list, in both orders`, async () => {
    await fc.assert(
      fc.asyncProperty(
        anyEvents,
        fc.array(fc.integer({ min: FROM + 1, max: TO - 1 }), { maxLength: 6 }),
        fc.array(anyRange, { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        async (events, cuts, ranges, hashed) => {
          const made = hashed
            ? await byHash(layout, events, cuts.length + 1)
            : await inOrder(layout, events, cuts);
          for (const range of ranges) {
            for (const ahead of AHEAD) {
              const reader = readerOf(made, { ...range, ...ahead });
              const seen = await readToEnd(() => reader.next());
              equal(seen.integrityError, undefined);
              sameBytes(seen.frames, framesOf(expected(events, range)));
              ok(seen.runs.every(isHonest));
              ok(reader.partsOpened <= made.parts.length);
            }
          }
        },
      ),
    );
  });
}

test("a read continues behind any event, also at the edges of parts", async () => {
  const times = Array.from({ length: 12 }, (_, i) => FROM + i);
  const events = newestFirst(
    times.flatMap((time) => ["a", "b", "c"].map((id) => testEvent(time, id, 10))),
  );
  const made = await inOrder("PACKED", events, [FROM + 3, FROM + 4, FROM + 8]);
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    for (const { position: after } of events) {
      const range = { ...WHOLE, order, after };
      const reader = readerOf(made, range);
      const seen = await readToEnd(() => reader.next());
      equal(seen.integrityError, undefined);
      sameBytes(seen.frames, framesOf(expected(events, range)));
    }
  }
});

test("a part is read one fetch ahead as soon as more than a page is wanted", async () => {
  const made = await inOrder("PACKED", manyEvents(100), []);
  const { store } = made;
  const scanBlocks = store.scanBlocks.bind(store);
  let fetches = 0;
  store.scanBlocks = async function* counted(...scan) {
    for await (const blocks of scanBlocks(...scan)) {
      fetches++;
      yield blocks;
    }
  };
  const reader = readerOf(made, { ...WHOLE, firstBytes: 10_000 });
  await reader.next();
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  equal(fetches, 1);
  await reader.next();
  await until(() => fetches === 3);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  equal(fetches, 3);
  await reader.close();
});

test("a read on demand fetches nothing ahead, however much of it is taken", async () => {
  const made = await inOrder("PACKED", manyEvents(200), [FROM + 50]);
  const { store } = made;
  const scanBlocks = store.scanBlocks.bind(store);
  let fetches = 0;
  store.scanBlocks = async function* counted(...scan) {
    for await (const blocks of scanBlocks(...scan)) {
      fetches++;
      yield blocks;
    }
  };
  for (const firstBytes of [10_000, 1_000_000]) {
    fetches = 0;
    const range = { ...WHOLE, firstBytes, subrangesAhead: 2, onDemand: true } as const;
    const reader = readerOf(made, range);
    for (let taken = 1; taken <= 3; taken++) {
      ok((await reader.next()) !== undefined);
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
      equal(fetches, taken);
    }
    await reader.close();
  }
});

test("a page opens only the part it needs, and no part twice", async () => {
  const made = await inOrder("PACKED", manyEvents(200), [FROM + 25, FROM + 50, FROM + 75]);
  let fetches = 0;
  made.store.before = () => {
    fetches++;
  };
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    fetches = 0;
    const after = { time: FROM + 60, id: Uint8Array.of(1) };
    const reader = readerOf(made, { ...WHOLE, order, after, firstBytes: 10_000 });
    ok((await reader.next()) !== undefined);
    await reader.close();
    deepEqual([reader.partsOpened, fetches], [1, 1]);
    equal(await reader.next(), undefined);
  }
  const reader = readerOf(made, WHOLE);
  await readToEnd(() => reader.next());
  equal(reader.partsOpened, 4);
});

test("a read of more than a page begins the next part before this one ends", async () => {
  const made = await inOrder("PACKED", manyEvents(100), [FROM + 50]);
  const reader = readerOf(made, { ...WHOLE, runBytesMax: 64 * 1024, firstBytes: 20_000 });
  let ofFirst = 0;
  for (let run = await reader.next(); run !== undefined; run = await reader.next()) {
    ofFirst += run.count;
    if (reader.partsOpened === 2) break;
  }
  ok(ofFirst < 50, `${ofFirst} events of the first part were returned`);
  const seen = await readToEnd(() => reader.next());
  equal(ofFirst + seen.runs.reduce((sum, run) => sum + run.count, 0), 100);
});

test("a read of a long range reads several subranges in parallel, also of several parts", async () => {
  const events = manyEvents(400);
  const made = await inOrder("PACKED", events, [FROM + 50]);
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    let underWay = 0;
    let most = 0;
    const gates: (() => void)[] = [];
    made.store.before = async () => {
      most = Math.max(most, ++underWay);
      await new Promise<void>((resolve) => gates.push(resolve));
      underWay--;
    };
    const range = { ...WHOLE, order, runBytesMax: 100_000, firstBytes: 100_000, subrangesAhead: 2 };
    const reader = readerOf(made, range);
    const reading = readToEnd(() => reader.next());
    let over = false;
    void reading.then(() => (over = true));
    while (!over) {
      // Every scan that can start has started before one of them continues.
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
      gates.shift()?.();
    }
    const seen = await reading;
    equal(seen.integrityError, undefined);
    sameBytes(seen.frames, framesOf(expected(events, range)));
    equal(most, 3);
    equal(reader.partsOpened, 2);
    made.store.before = () => undefined;
  }
});

test("a read of a long range fetches each block once, with one scan for each subrange", async () => {
  const events = manyEvents(400);
  const made = await inOrder("PACKED", events, [FROM + 50]);
  const { store } = made;
  const scanBlocks = store.scanBlocks.bind(store);
  const keys: string[] = [];
  let scans = 0;
  store.scanBlocks = async function* counted(...scan) {
    scans++;
    for await (const blocks of scanBlocks(...scan)) {
      for (const { key } of blocks) keys.push(`${key.time} ${Buffer.from(key.id).toString()}`);
      yield blocks;
    }
  };
  const sizes = { runBytesMax: 50_000, firstBytes: 50_000, subrangeBytes: 100_000 };
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    for (const subrangesAhead of [1, 2]) {
      keys.length = 0;
      scans = 0;
      const range = { ...WHOLE, ...sizes, order, subrangesAhead };
      const reader = readerOf(made, range);
      const seen = await readToEnd(() => reader.next());
      sameBytes(seen.frames, framesOf(expected(events, range)));
      equal(
        keys.length,
        made.parts.reduce((sum, { blocks }) => sum + blocks, 0),
      );
      equal(new Set(keys).size, keys.length);
      ok(scans >= 20 && scans <= 36, `${scans} scans`);
    }
  }
});

test("events crowded into a subrange are fetched in smaller fetches from then on", async () => {
  const crowd = Array.from({ length: 400 }, (_, i) =>
    testEvent(FROM + 40 + (i % 5), `c-${i}`, 500),
  );
  const events = newestFirst([...manyEvents(100), ...crowd]);
  const made = await inOrder("PACKED", events, []);
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    const sizes = { runBytesMax: 50_000, firstBytes: 50_000, subrangeBytes: 100_000 };
    const range = { ...WHOLE, ...sizes, order, subrangesAhead: 1 };
    const reader = readerOf(made, range);
    const seen = await readToEnd(() => reader.next());
    equal(seen.integrityError, undefined);
    sameBytes(seen.frames, framesOf(expected(events, range)));
    ok(seen.runs.every((run) => run.bytes <= sizes.subrangeBytes));
  }
});

test("clustered events cost a few more fetches, not one for each empty subrange", async () => {
  const crowded = newestFirst(
    Array.from({ length: 200 }, (_, i) => testEvent(TO - 5 + (i % 5), `id-${i}`, 5_000)),
  );
  const made = await inOrder("PACKED", crowded, []);
  let scans = 0;
  made.store.before = () => {
    scans++;
  };
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    scans = 0;
    const range = { ...WHOLE, order, runBytesMax: 100_000, firstBytes: 100_000, subrangesAhead: 2 };
    const reader = readerOf(made, range);
    const seen = await readToEnd(() => reader.next());
    sameBytes(seen.frames, framesOf(expected(crowded, range)));
    ok(scans <= 10, `${scans} scans`);
  }
});

test("closing waits for reads ahead, so that nothing stays under way", async () => {
  const made = await inOrder("PACKED", manyEvents(100), [FROM + 50]);
  const gate = Promise.withResolvers<void>();
  let scans = 0;
  made.store.before = () => (++scans > 1 ? gate.promise : undefined);
  const reader = readerOf(made, { ...WHOLE, firstBytes: 1 });
  while (reader.partsOpened < 2) ok((await reader.next()) !== undefined);
  let closed = false;
  const closing = reader.close().then(() => (closed = true));
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  equal(closed, false);
  gate.resolve();
  await closing;
  equal(await reader.next(), undefined);
});

test("an integrity error in a part read ahead comes at its position, behind everything that is right", async () => {
  const events = manyEvents(100);
  const made = await inOrder("PACKED", events, [FROM + 50]);
  let scans = 0;
  made.store.before = () => {
    if (++scans > 1) throw new ServiceError("STORAGE_UNAVAILABLE", "planted");
  };
  const reader = readerOf(made, { ...WHOLE, firstBytes: 1 });
  const seen = await readToEnd(() => reader.next());
  equal(seen.integrityError?.reason, "storage");
  const first = events.filter(({ position }) => position.time >= FROM + 50);
  sameBytes(seen.frames, framesOf(first));
  await reader.close();
  equal(scans, 2);
});

test("parts that do not make up the whole segment are an integrity error before anything is read", async () => {
  const made = await inOrder("PACKED", manyEvents(100), [FROM + 25, FROM + 50]);
  const hashed = await byHash("PACKED", manyEvents(100), 3);
  const [a, b, c] = made.parts as [PartRecord, PartRecord, PartRecord];
  const [x, ...others] = hashed.parts as [PartRecord, ...PartRecord[]];
  const one = await inOrder("PACKED", manyEvents(100), []);
  const [whole] = one.parts as [PartRecord];
  const wrong: Segmented[] = [
    { ...one, parts: [{ ...whole, from: whole.from + 1 }] },
    { ...one, parts: [{ ...whole, to: whole.to - 1 }] },
    { ...made, parts: [a, c] },
    { ...made, parts: [a, b] },
    { ...made, parts: [b, c] },
    { ...made, parts: [] },
    { ...made, parts: [b, a, c] },
    { ...made, parts: [a, { ...b, from: b.from + 1 }, c] },
    { ...made, parts: [a, { ...b, events: b.events + 1 }, c] },
    { ...made, parts: [a, { ...b, bytes: b.bytes + 1 }, c] },
    { ...made, parts: [a, b, { ...c, from: c.from + 1 }] },
    { ...hashed, parts: others },
    { ...hashed, parts: [{ ...x, from: FROM + 1 }, ...others] },
  ];
  for (const each of wrong) {
    let scans = 0;
    each.store.before = () => {
      scans++;
    };
    const reader = readerOf(each, WHOLE);
    const { integrityError } = await readToEnd(() => reader.next());
    deepEqual(
      [integrityError?.reason, integrityError?.late, scans],
      ["gap between parts", false, 0],
    );
  }
});
