import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { placed } from "../../tests/conformance/event-store.ts";
import { ControlFixture, DAY, never, NOON } from "../../tests/support/control-fixture.ts";
import { ServiceError } from "../lib/errors.ts";
import { SizeHistogram } from "../model/size-histogram.ts";
import type { SliceHistogram } from "../model/slice-histogram.ts";
import type { NoSizes, PartitionSizes, SizeReport } from "../ports/partition-sizes.ts";
import { readHistogram, readHistograms } from "../records/histogram-records.ts";
import { readSizeReports } from "../records/size-report-records.ts";
import { readTopPartitions } from "../records/top-partition-records.ts";
import { readWidthMap } from "../records/width-map-records.ts";
import { updateNamespace } from "../records/namespace-records.ts";
import { SliceWalker } from "./slice-walker.ts";
import type { SliceWalkerOptions, WalkEvent } from "./slice-walker.ts";

const TODAY = "data_20260328";
const HOUR_MS = 3_600_000;

/** A namespace with events of today in its store, and a walker. */
async function open(options: Partial<SliceWalkerOptions> = {}) {
  const fixture = new ControlFixture();
  const { catalog, store, clock } = fixture;
  const control = fixture.start();
  const { id } = await control.namespaces.create("plays", {});
  const events: WalkEvent[] = [];
  const published: string[] = [];
  const all: SliceWalkerOptions = {
    catalog,
    store,
    clock,
    table: {
      publish: async ({ name }, { timeSlice }) => void published.push(`${name} ${timeSlice}`),
      publishReport: async ({ name }, { timeSlice }, { source }) =>
        void published.push(`${name} ${timeSlice} ${source}`),
      remove: async ({ name }, timeSlice) => void published.push(`-${name} ${timeSlice}`),
    },
    sources: [],
    everyMs: 60_000,
    currentEveryMs: HOUR_MS,
    rate: { bytesPerSecond: 1 << 30, partitionsPerSecond: 1e9 },
    bytesMax: 1 << 30,
    walkMsMax: HOUR_MS,
    observe: (event) => events.push(event),
    ...options,
  };
  const walker = new SliceWalker(all);
  const write = async (series: string, count: number, slice = TODAY): Promise<void> => {
    const written = Array.from({ length: count }, (_, nth) =>
      placed(series, NOON + nth, `e${nth}`),
    );
    await store.append({ namespaceId: id, slice }, written);
  };
  return {
    fixture,
    catalog,
    store,
    clock,
    id,
    walker,
    /** As after a restart. */
    another: () => new SliceWalker(all),
    events,
    published,
    write,
    walk: async (): Promise<void> => {
      await fixture.passWhile(walker.runOnce(never));
    },
    /** Lets a day and a bit pass, so that today's slice is settled. */
    seal: async (): Promise<void> => {
      await clock.advance((DAY + DAY / 8) / 1_000);
      // A floor settles some time after it is stored.
      for (let round = 0; round < 20; round++) {
        await fixture.passWhile(control.reconciler.runOnce(never));
        await clock.advance(2_000);
      }
    },
    histogram: (slice = TODAY) => readHistogram(catalog, id, slice),
    reconcile: () => fixture.passWhile(control.reconciler.runOnce(never)),
    walked: () => events.filter((event) => event.kind === "walked"),
  };
}

function summary(histogram: SliceHistogram | undefined): unknown {
  if (histogram === undefined) return undefined;
  const { sealed, complete, partitions } = histogram;
  return { sealed, complete, count: partitions.bytes.count, events: partitions.events.total };
}

test("the slice that takes events is walked now and then, and once more when it is settled", async () => {
  const world = await open();
  await world.write("a", 3);
  await world.walk();
  deepEqual(summary(await world.histogram()), {
    sealed: false,
    complete: true,
    count: 1,
    events: 3,
  });
  await world.write("b", 2);
  await world.walk();
  equal((await world.histogram())?.partitions.bytes.count, 1, "it waits for an hour");
  await world.clock.advance(HOUR_MS);
  await world.walk();
  equal((await world.histogram())?.partitions.bytes.count, 2);
  await world.seal();
  await world.walk();
  deepEqual(summary(await world.histogram()), {
    sealed: true,
    complete: true,
    count: 2,
    events: 5,
  });
  const walks = world.walked().length;
  await world.clock.advance(HOUR_MS / 2);
  await world.walk();
  equal(world.walked().length, walks, "a settled slice is walked once");
});

test("a slice without new events is not walked again", async () => {
  const world = await open();
  await world.write("a", 3);
  await world.walk();
  const first = await world.histogram();
  await world.clock.advance(2 * HOUR_MS);
  await world.walk();
  equal((await world.histogram())?.asOf, first?.asOf);
});

test("the largest partitions are stored by name, and histograms are published", async () => {
  const world = await open();
  await world.write("small", 1);
  await world.write("large", 50);
  await world.walk();
  const top = await readTopPartitions(world.catalog, { namespaceId: world.id, slice: TODAY });
  deepEqual(
    top?.partitions.map(({ seriesId, events, exact }) => `${seriesId} ${events} ${String(exact)}`),
    ["large 50 true", "small 1 true"],
  );
  equal(top?.totalEvents, 51);
  const map = await readWidthMap(world.catalog, { namespaceId: world.id, slice: TODAY });
  deepEqual([map?.sizes.count, map?.totalEvents, map?.shape.columns], [2, 51, 24]);
  ok(world.published.includes(`plays ${TODAY}`));
});

test("a histogram outlives its slice, and the names of its partitions do not", async () => {
  const world = await open();
  await world.write("a", 3);
  await world.seal();
  await world.walk();
  for (let day = 0; day < 20; day++) {
    await world.clock.advance(DAY / 1_000);
    await world.reconcile();
  }
  await world.fixture.removeDropped();
  equal(
    world.store.sliceNames().some((name) => name.endsWith(TODAY)),
    false,
    "it was dropped",
  );
  deepEqual(summary(await world.histogram()), {
    sealed: true,
    complete: true,
    count: 1,
    events: 3,
  });
  const ref = { namespaceId: world.id, slice: TODAY };
  equal(await readTopPartitions(world.catalog, ref), undefined);
  equal(await readWidthMap(world.catalog, ref), undefined);
});

test("a walk stores nothing if its time was re-opened meanwhile, and is repeated", async () => {
  const world = await open();
  await world.write("a", 3);
  await world.seal();
  world.store.before = async (call) => {
    if (call !== "walkPartitions") return;
    world.store.before = () => undefined;
    await updateNamespace(world.catalog, "plays", (record) => ({
      ...record,
      epoch: 1,
      epochStarts: [{ epoch: 1, floor: NOON }],
    }));
  };
  await world.walk();
  equal(await world.histogram(), undefined, "its time was re-opened meanwhile");
  await world.walk();
  equal((await world.histogram())?.epoch, 1);
});

test("a walk that loses its lease ends and stores nothing", async () => {
  const world = await open();
  await world.write("a", 3);
  let owner = true;
  world.store.before = (call) => {
    if (call === "walkPartitions") owner = false;
  };
  await world.fixture.passWhile(world.walker.runOnce(never, () => owner));
  deepEqual(await readHistograms(world.catalog, world.id), []);
});

test("a storage that fails for a while is asked again; a damaged slice does not stop the others", async () => {
  const world = await open();
  await world.write("a", 3);
  let failures = 3;
  world.store.before = (call) => {
    if (call === "walkPartitions" && failures-- > 0) {
      throw new ServiceError("STORAGE_UNAVAILABLE", "not now");
    }
  };
  await world.walk();
  equal((await world.histogram())?.partitions.bytes.count, 1);
  await world.seal();
  world.store.before = (call, { slice }) => {
    if (call === "walkPartitions" && slice === TODAY) throw new ServiceError("DATA_LOSS", "gone");
  };
  await world.walk();
  equal(world.events.filter(({ kind }) => kind === "failed").length, 1);
  ok((await readHistograms(world.catalog, world.id)).length > 1, "the next slice was walked");
});

test("a large slice is counted for a sample of its ids, and says so", async () => {
  const world = await open({ bytesMax: 1_000 });
  for (let nth = 0; nth < 400; nth++) await world.write(`id${nth}`, 1);
  await world.walk();
  const histogram = await world.histogram();
  ok(histogram !== undefined && histogram.sampleShare < 0.1);
  equal(histogram.partitions.bytes.count, 400, "their number is exact");
  ok(histogram.omissions.notCounted > 300);
});

test("a walk rests between pages as its rate demands, and ends at its time limit", async () => {
  const world = await open({
    rate: { bytesPerSecond: 1 << 30, partitionsPerSecond: 100 },
    walkMsMax: 1_000,
  });
  for (let nth = 0; nth < 1_100; nth++) await world.write(`id${nth}`, 1);
  await world.walk();
  const histogram = await world.histogram();
  equal(histogram?.complete, false);
  // A page of 512 takes 20 s at a quarter of 100 a second.
  ok((histogram?.endedAt ?? 0) - (histogram?.asOf ?? 0) >= 20_000_000);
  ok((histogram?.partitions.bytes.count ?? 0) < 1_100);
});

test("C28: a slice whose histogram is of a newer version is left alone, and the others are walked", async () => {
  const world = await open();
  await world.write("a", 3);
  await world.catalog.write(`histograms/${world.id}`, TODAY, '{"format":99}', 0);
  await world.seal();
  await world.walk();
  deepEqual(
    world.events.filter(({ kind }) => kind === "failed"),
    [],
  );
  const others = await readHistograms(world.catalog, world.id);
  ok(others.length > 0 && others.every(({ timeSlice }) => timeSlice !== TODAY));
});

test("the lag is the time that the oldest settled slice has waited", async () => {
  const world = await open();
  await world.write("a", 3);
  await world.seal();
  world.store.before = (call) => {
    if (call === "walkPartitions") throw new ServiceError("DATA_LOSS", "gone");
  };
  await world.walk();
  const lag = () =>
    [...world.walker.lagSeconds()].find(({ labels }) => labels[0] === "plays")?.value;
  ok((lag() ?? 0) > 3_600, `${lag()}`);
  const failures = (): number => world.events.filter(({ kind }) => kind === "failed").length;
  const before = failures();
  await world.walk();
  equal(failures(), before, "a slice that failed is left alone for a while");
  ok((lag() ?? 0) > 3_600, "and still waits");
  world.store.before = () => undefined;
  await world.clock.advance(600_000);
  await world.walk();
  equal(lag(), 0);
});

/** Pages of 512 partitions take a minute each. */
const SLOW = { bytesPerSecond: 1 << 30, partitionsPerSecond: 512 / 60 };

/** A walk of a settled slice that its process leaves after so many pages. */
async function leftAfter(pages: number, options: Partial<SliceWalkerOptions> = {}) {
  const world = await open({ rate: SLOW, ...options });
  for (let nth = 0; nth < 2_000; nth++) await world.write(`id${nth}`, (nth % 7) + 1);
  await world.seal();
  const leaving = new AbortController();
  let seen = 0;
  world.store.before = (call, { slice }) => {
    if (call !== "walkPartitions" || slice !== TODAY || seen++ < pages) return;
    leaving.abort(new Error("the process ends"));
  };
  await world.fixture.passWhile(world.walker.runOnce(leaving.signal));
  world.store.before = () => undefined;
  equal(await world.histogram(), undefined);
  const walkedOf = (): number =>
    world.events.reduce((sum, each) => sum + (each.kind === "paged" ? each.partitions : 0), 0);
  return { ...world, walkedOf };
}

test("a process that takes over continues the walk where it was saved last", async () => {
  const world = await leftAfter(3);
  const before = world.walkedOf();
  equal(before, 3 * 512);
  const began = world.clock.nowMicros();
  const other = world.another();
  await world.fixture.passWhile(other.runOnce(never));
  const histogram = await world.histogram();
  deepEqual(summary(histogram), { sealed: true, complete: true, count: 2_000, events: 7_995 });
  ok((histogram?.asOf ?? 0) < began, "the walk began before");
  const again = world.walkedOf() - before;
  ok(again < 2_000 - 2 * 512 + 1, `${again} partitions were walked in the second process`);
  equal(
    (await readTopPartitions(world.catalog, { namespaceId: world.id, slice: TODAY }))?.totalEvents,
    7_995,
  );
  deepEqual(await world.catalog.list(`walk-positions/${world.id}/${TODAY}`, "", 10), []);
});

test("a saved position is not used after its time was re-opened", async () => {
  const world = await leftAfter(3);
  await updateNamespace(world.catalog, "plays", (found) => ({
    ...found,
    epoch: found.epoch + 1,
    epochStarts: [...found.epochStarts, { epoch: found.epoch + 1, floor: 0 }],
    settled: { epoch: found.epoch + 1, floor: found.settled.floor },
  }));
  const before = world.walkedOf();
  await world.fixture.passWhile(world.another().runOnce(never));
  equal((await world.histogram())?.partitions.bytes.count, 2_000);
  ok(world.walkedOf() - before >= 2_000, "from the beginning");
});

test("C28: a saved position of a newer version stays, and the walk begins again", async () => {
  const world = await leftAfter(3);
  const space = `walk-positions/${world.id}/${TODAY}`;
  const head = await world.catalog.read(space, "head");
  ok(head !== undefined);
  const newer = '{"format":99}';
  await world.catalog.write(space, "head", newer, head.version);
  await world.fixture.passWhile(world.another().runOnce(never));
  equal((await world.histogram())?.partitions.bytes.count, 2_000);
  equal((await world.catalog.read(space, "head"))?.value, newer);
});

test("a walk that reached its time limit is continued a day later, until it is complete", async () => {
  const world = await open({ rate: SLOW, walkMsMax: 90_000 });
  for (let nth = 0; nth < 2_000; nth++) await world.write(`id${nth}`, 1);
  await world.seal();
  const counts: number[] = [];
  for (let day = 0; day < 4; day++) {
    await world.walk();
    counts.push((await world.histogram())?.partitions.bytes.count ?? 0);
    await world.clock.advance(DAY / 1_000);
  }
  deepEqual(counts, [3 * 512, 2_000, 2_000, 2_000]);
  equal((await world.histogram())?.complete, true);
});

test("a slice whose histogram is no longer kept is not walked again by another process", async () => {
  const world = await open({ keptMax: 2 });
  await world.write("a", 3);
  await world.seal();
  await world.walk();
  for (let day = 0; day < 3; day++) await world.seal();
  await world.walk();
  world.events.length = 0;
  const other = world.another();
  await world.fixture.passWhile(other.runOnce(never));
  deepEqual(
    world.walked().map((event) => event.histogram.timeSlice === TODAY),
    [],
  );
});

test("what the storage says about a settled slice is stored before its walk, with source and time", async () => {
  const histogram = new SizeHistogram();
  histogram.add(1_000, 3);
  const words = { coverage: "all", tells: "much", doesNotTell: "little", asOf: 7 };
  const sized = { kind: "sizes", count: 3, meanBytes: 1_000, maxBytes: 1_000, ...words } as const;
  const jmx: SizeReport = { ...sized, source: "JMX", histogram };
  const asked: string[] = [];
  const source = (answer: SizeReport | NoSizes): PartitionSizes => ({
    source: answer.source,
    sizesOf: async ({ slice }) => {
      asked.push(slice);
      return answer;
    },
  });
  const away = { kind: "none", source: "TABLE_ESTIMATES", reason: "away" } as const;
  const world = await open({ sources: [source(away), source(jmx)] });
  await world.write("a", 3);
  await world.seal();
  await world.walk();
  deepEqual(asked, [TODAY, TODAY], "the slices that take events are only walked");
  const stored = await readSizeReports(world.catalog, world.id, TODAY);
  deepEqual(stored?.reports, [jmx]);
  equal((await world.histogram())?.source, "WALK");
  deepEqual(world.published.slice(0, 2), [`plays ${TODAY} JMX`, `plays ${TODAY}`]);
  await world.walk();
  equal(asked.length, 2, "it is asked once");
});
