/**
 * Whatever was written, however it is split, and whatever happens to the splits between two pages:
 * the answer equals that of a plain sorted list.
 */
import { deepEqual } from "node:assert/strict";
import fc from "fast-check";
import { ByteBudget } from "../../src/lib/byte-budget.ts";
import { ServiceError } from "../../src/lib/errors.ts";
import { eventBucketsOf, timeBucketOf, timeBucketRange } from "../../src/model/partition.ts";
import type { PartitionKey } from "../../src/model/partition.ts";
import { readSplit } from "../../src/records/split-records.ts";
import type { ReadMode } from "../../src/model/read-mode.ts";
import type { SplitLayout } from "../../src/model/layouts.ts";
import type { TimeSlice } from "../../src/model/time-slice.ts";
import type { StoredBlock } from "../../src/ports/event-store.ts";
import type { ReadQuery } from "../../src/read/read-query.ts";
import { EventWriter } from "../../src/write/write-events.ts";
import { MemoryCatalog } from "../support/memory-catalog.ts";
import { MemoryStore } from "../support/memory-store.ts";
import { joinedSlices, staticView, viewSource } from "../support/static-view.ts";
import { VirtualClock } from "../support/virtual-clock.ts";
import * as reads from "./reads.ts";
import type { ModelEvent } from "./reads.ts";
import { ServedReads } from "./served-reads.ts";
import { addSegment, eventsIn, rollBack } from "./split-building.ts";
import { reopened } from "../support/reopened.ts";

const { START, SECOND } = reads;
const HOUR = 3_600 * SECOND;

/** A share of something, often none or all of it. */
const share = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 1));

const segment = fc.record({
  /** How much of the unsplit rest it covers. */
  covers: fc.oneof(fc.double({ min: 0.1, max: 1, noNaN: true }), fc.constant(1)),
  cuts: fc.array(share, { maxLength: 4 }),
  hashParts: fc.constantFrom(0, 0, 0, 1, 3),
  layout: fc.constantFrom<SplitLayout>("PACKED", "ROWS"),
  confirmed: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, fc.constant(false)),
});

const change = fc.record({
  what: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom("nothing" as const, "extend" as const) },
    { weight: 3, arbitrary: fc.constantFrom("roll back" as const, "wait" as const) },
    {
      weight: 1,
      arbitrary: fc.constantFrom("kill" as const, "shadow" as const, "reopen" as const),
    },
  ),
  /** Which partition. */
  which: fc.nat(),
  segment,
  /** Whether this server learns of it at once. */
  told: fc.boolean(),
});

const fault = fc.oneof(
  { weight: 2, arbitrary: fc.constant("none" as const) },
  fc.constantFrom(
    "split storage fails" as const,
    "a block is missing" as const,
    "a block is damaged" as const,
    "a part's record is missing" as const,
    "the catalog fails" as const,
  ),
);

/** Mostly the whole range; ranges that cut off the edges are tried too. */
const query = fc
  .tuple(reads.query, fc.boolean())
  .map(([q, all]) => (all ? { ...q, from: 0, length: 100 * SECOND } : q));

const world = fc.record({
  strategies: fc.array(reads.strategy, { minLength: 1, maxLength: 2 }),
  grows: fc.boolean(),
  events: fc.array(reads.event, { minLength: 10, maxLength: 120, size: "max" }),
  /** Of each partition; some have none, some have several. */
  splits: fc.array(fc.array(segment, { maxLength: 3 }), { minLength: 1, maxLength: 8 }),
  mode: fc.constantFrom<ReadMode>("SERVE", "SERVE", "SERVE", "COMPARE", "SHADOW"),
  fraction: fc.constantFrom(0, 0.999),
  proven: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
  fault,
  every: fc.integer({ min: 1, max: 4 }),
  queries: fc.array(query, { minLength: 1, maxLength: 4 }),
  changes: fc.array(change, { maxLength: 6 }),
  pageBytesMax: fc.constantFrom(300, 2_000, 3 * 1024 * 1024),
});

type WorldInput = typeof world extends fc.Arbitrary<infer T> ? T : never;
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** What was reported in all worlds together: a test can check that the splits were used. */
export type Told = Map<string, number>;

export async function splitReadsEqualTheModel(numRuns: number): Promise<Told> {
  const told: Told = new Map();
  const property = fc.asyncProperty(world, (input) => checkWorld(input, told));
  await fc.assert(property, { numRuns });
  return told;
}

async function checkWorld(input: WorldInput, told: Told): Promise<void> {
  const { served, model, partitions, end } = await writeWorld(input);
  try {
    for (const [nth, location] of partitions.entries()) {
      const shapes = input.splits[nth % input.splits.length] ?? [];
      for (const shape of shapes) await extend(served, location, shape);
    }
    await served.loaded(partitions.map(({ key }) => key));
    if (input.fault === "a part's record is missing") await plant(served, input);
    if (input.proven) await proveAll(served, model, end);
    await plant(served, input);
    served.setMode(input.mode);
    served.fraction = input.fraction;
    served.told.clear();
    served.reads.length = 0;
    for (const q of input.queries) await checkQuery(served, model, partitions, input, q);
  } finally {
    for (const [what, count] of served.told) told.set(what, (told.get(what) ?? 0) + count);
    const split = served.reads.filter(({ route }) => route.startsWith("SPLIT")).length;
    told.set("split reads", (told.get("split reads") ?? 0) + split);
    await served.close();
  }
}

async function checkQuery(
  served: ServedReads,
  model: ReadonlyMap<string, ModelEvent>,
  partitions: readonly Place[],
  input: WorldInput,
  q: WorldInput["queries"][number],
): Promise<void> {
  const readQuery = reads.readQueryOf(q);
  const expected = reads.answerOf(model, readQuery, q.filter);
  const between = (): (() => Promise<void>) => {
    const changes = input.changes.values();
    return async () => {
      const next = changes.next().value;
      try {
        if (next !== undefined) await apply(served, partitions, next);
      } catch (error) {
        // A change of a split may fail half way.
        if (!(error instanceof ServiceError)) throw error;
      }
    };
  };
  const { reader } = served;
  const pages = await reads.readAllPages(reader, readQuery, input.pageBytesMax, between());
  deepEqual(pages, expected, "page by page");
  deepEqual(await reads.streamAll(reader, readQuery, between()), expected, "as a stream");
}

interface Place {
  readonly key: PartitionKey;
  readonly start: number;
  readonly end: number;
}

/** The events, written through the writer, and their locations. */
async function writeWorld(input: WorldInput): Promise<{
  served: ServedReads;
  model: Map<string, ModelEvent>;
  partitions: readonly Place[];
  end: number;
}> {
  const slices = joinedSlices(START, input.strategies);
  const end = slices.at(-1)?.end ?? START;
  const steps = input.grows ? [{ from: START + 10 * SECOND, factor: 2 }] : [];
  const view = staticView({
    slices,
    config: { acceptLimitMicros: HOUR, futureLimitMicros: HOUR },
    idStrategies: new Map([["s", steps]]),
    readMode: "SERVE",
  });
  const clock = new VirtualClock(end);
  const parts = { store: new MemoryStore(), catalog: new MemoryCatalog(), clock };
  const limits = { pageBytesMax: input.pageBytesMax, streamPageBytes: input.pageBytesMax };
  const served = new ServedReads(view, parts, { limits: { ...limits, pageSizeDefault: 5 } });
  await served.makeTables();
  const model = new Map<string, ModelEvent>();
  for (const { offset, ...rest } of input.events) {
    const event = { ...rest, time: START + offset };
    if (event.time >= START && event.time < end) model.set(reads.keyOf(event), event);
  }
  const writer = new EventWriter({
    clock,
    store: served.store,
    views: viewSource(() => view),
    budget: new ByteBudget(1 << 26),
  });
  const events = [...model.values()].map(reads.encode);
  await writer.write({ namespace: "plays", events, bytes: 1_000 }, new AbortController().signal);
  const partitions = new Map<string, Place>();
  for (const event of model.values()) {
    const slice = slices.find((each) => event.time < each.end) as TimeSlice;
    const timeBucket = timeBucketOf(slice, event.time);
    const buckets = eventBucketsOf(slice, timeBucket, event.series === "s" ? steps : undefined);
    for (let eventBucket = 0; eventBucket < buckets; eventBucket++) {
      const { series: seriesId } = event;
      const key = { namespaceId: "plays-1", slice: slice.name, seriesId, timeBucket, eventBucket };
      partitions.set(JSON.stringify(key), { key, ...timeBucketRange(slice, timeBucket) });
    }
  }
  return { served, model, partitions: [...partitions.values()], end };
}

/** A further segment behind the existing ones. */
async function extend(
  served: ServedReads,
  location: Place,
  shape: Change["segment"],
): Promise<void> {
  const { key, start, end } = location;
  const record = await readSplit(served.catalog, key);
  const from = record?.segments.at(-1)?.to ?? start;
  const within = (at: number): number => from + Math.floor(at * (end - from));
  const to = within(shape.covers);
  if (from >= to) return;
  // Cuts at and next to events are the ones that matter.
  const times = (await eventsIn(served.store, key, from, to)).map(({ time }) => time);
  const cuts = shape.cuts.map(
    (at, nth) => times[Math.floor(at * times.length)] ?? within(at / (nth + 1)),
  );
  const { epoch } = served.view.namespace;
  await addSegment(served, key, { ...shape, from, to, cuts }, epoch);
}

async function apply(
  served: ServedReads,
  partitions: readonly Place[],
  { what, which, segment: shape, told }: Change,
): Promise<void> {
  const location = partitions[which % partitions.length];
  if (location === undefined) return;
  const { namespace } = served.view;
  switch (what) {
    case "extend":
      await extend(served, location, shape);
      break;
    case "roll back":
      await rollBack(served, location.key);
      break;
    case "kill":
      served.killed = !served.killed;
      break;
    case "shadow":
      served.setMode(namespace.readMode.mode === "SERVE" ? "SHADOW" : "SERVE");
      break;
    case "reopen":
      served.view = {
        ...served.view,
        namespace: reopened(
          namespace,
          location.start + shape.covers * (location.end - location.start),
        ),
      };
      break;
    case "wait":
      await served.clock.advance(11_000);
      break;
    case "nothing":
  }
  if (told) served.serving.changed(location.key);
}

/** Everything is read once, so that all of it may be served from the splits. */
async function proveAll(
  served: ServedReads,
  model: ReadonlyMap<string, ModelEvent>,
  end: number,
): Promise<void> {
  for (const seriesId of new Set([...model.values()].map(({ series }) => series))) {
    const whole: ReadQuery = {
      namespace: "plays",
      seriesId,
      start: START,
      end,
      filters: [],
      order: "NEWEST_FIRST",
      pageSize: 1_000,
      totalLimit: 0,
      pageToken: "",
      allowPartial: false,
    };
    await reads.streamAll(served.reader, whole);
    await served.quiet();
  }
}

async function plant(served: ServedReads, { fault: what, every }: WorldInput): Promise<void> {
  let nth = 0;
  const { store, catalog } = served;
  const fails = (): boolean => ++nth % every === 0;
  switch (what) {
    case "split storage fails":
      store.before = (call, { slice }) => {
        if (!slice.startsWith("wide_") || !call.startsWith("scan") || !fails()) return;
        throw new ServiceError("STORAGE_UNAVAILABLE", "the split table is down");
      };
      return;
    case "the catalog fails":
      catalog.before = (_, space) => {
        const mine = space.startsWith("routes/") || space.startsWith("parts/");
        if (mine && fails()) throw new ServiceError("STORAGE_UNAVAILABLE", "the catalog is down");
      };
      return;
    case "a part's record is missing":
      for (const name of catalog.dump().filter((each) => each.startsWith("parts/"))) {
        const space = name.slice(0, name.indexOf("/", "parts/plays-1/data_0/".length));
        for (const { key, version } of catalog.peek(space)) {
          if (fails()) await catalog.remove(space, key, version);
        }
      }
      return;
    case "a block is missing":
      return changeBlocks(store, (blocks) => blocks.filter(() => !fails()));
    case "a block is damaged":
      return changeBlocks(store, (blocks) =>
        blocks.map(({ key, bytes }) => {
          const copy = Uint8Array.from(bytes);
          if (fails()) copy[nth % copy.length] = (copy[nth % copy.length] as number) ^ 1;
          return { key, bytes: copy };
        }),
      );
    case "none":
  }
}

function changeBlocks(
  store: MemoryStore,
  changed: (blocks: readonly StoredBlock[]) => readonly StoredBlock[],
): void {
  const scanBlocks = store.scanBlocks.bind(store);
  store.scanBlocks = async function* (partition, range, signal) {
    for await (const blocks of scanBlocks(partition, range, signal)) yield changed(blocks);
  };
}
