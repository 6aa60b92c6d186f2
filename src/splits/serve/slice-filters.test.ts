import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { addSegment, rollBack } from "../../../tests/property/split-building.ts";
import { MemoryCatalog } from "../../../tests/support/memory-catalog.ts";
import { MemoryStore } from "../../../tests/support/memory-store.ts";
import { settle, VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { noteChange } from "../../records/split-changes.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { splitTableOf } from "../../model/split.ts";
import { SliceFilters } from "./slice-filters.ts";
import type { SliceFiltersOptions } from "./slice-filters.ts";
import { timeMargins } from "../../model/time-margins.ts";

test("a slice's filter is loaded at its first use, and answers that it is not loaded until then", async () => {
  const fixture = await Fixture.open();
  await fixture.split(1);
  equal(fixture.filters.check(locationOf(1)), "NOT_LOADED");
  await fixture.quiet();
  equal(fixture.filters.check(locationOf(1)), "HIT");
  equal(fixture.filters.check(locationOf(2)), "MISS");
  equal(fixture.filters.check({ ...locationOf(1), timeBucket: 1 }), "MISS");
  equal(fixture.filters.check({ ...locationOf(1), eventBucket: 1 }), "MISS");
});

test("a slice without splits takes no memory and no hashing", async () => {
  const fixture = await Fixture.open();
  await fixture.loaded();
  equal(fixture.filters.check(locationOf(1)), "NONE");
  deepEqual([...fixture.filters.sizes()], []);
});

test("B1: the age of the filters counts from the last time that the changes were followed", async () => {
  const fixture = await Fixture.open();
  equal(fixture.filters.oldestMs(), undefined);
  await fixture.loaded();
  await fixture.clock.advance(5_000);
  equal(fixture.filters.oldestMs(), 5_000);
  await fixture.filters.refresh();
  equal(fixture.filters.oldestMs(), 0);
  fixture.catalog.before = () => {
    throw new Error("down");
  };
  await fixture.clock.advance(3_000);
  await fixture.filters.refresh();
  equal(fixture.filters.oldestMs(), 3_000);
});

test("B5: figures count what reads asked a filter, and which answers were wrong", async () => {
  const fixture = await Fixture.open();
  await fixture.split(1);
  const openedAt = fixture.clock.nowMicros();
  await fixture.loaded();
  for (let n = 0; n < 4; n++) fixture.filters.check(locationOf(1));
  for (let n = 0; n < 3; n++) fixture.filters.check(locationOf(2));
  fixture.filters.falsePositive(locationOf(1));
  await fixture.clock.advance(2_000);
  const [figures, ...others] = [...fixture.filters.figures()];
  deepEqual(others, []);
  deepEqual(
    { ...figures, bytes: 0, capacity: 0, expectedRate: 0 },
    {
      slice: { namespaceId: locationOf(1).namespaceId, slice: locationOf(1).slice },
      entries: 1,
      bytes: 0,
      capacity: 0,
      checks: figures?.checks,
      hits: 4,
      falsePositives: 1,
      configuredRate: 0.01,
      expectedRate: 0,
      observedRate: 1 / ((figures?.checks ?? 0) - 3),
      ageMs: 2_000,
      loadedAt: openedAt,
      openedAt,
    },
  );
  ok((figures?.checks ?? 0) >= 7);
  ok((figures?.expectedRate ?? 1) < 0.01);
});

test("B1: a completed split is known after the next read of the changes, and reported once", async () => {
  const fixture = await Fixture.open();
  await fixture.loaded();
  await fixture.split(1);
  equal(fixture.filters.check(locationOf(1)), "NONE");
  await fixture.filters.refresh();
  equal(fixture.filters.check(locationOf(1)), "HIT");
  equal(fixture.changes.length, 1);
  await fixture.filters.refresh();
  equal(fixture.changes.length, 1);
});

test("a change by a process whose clock is behind is seen", async () => {
  const fixture = await Fixture.open();
  await fixture.loaded();
  await fixture.clock.advance(30_000);
  await fixture.filters.refresh();
  const behind = new VirtualClock(fixture.clock.nowMicros() - 1_000_000);
  await fixture.split(1, behind);
  await fixture.filters.refresh();
  equal(fixture.filters.check(locationOf(1)), "HIT");
});

test("B3, B4: a filter of which only a part could be read is not used, and the former one stays", async () => {
  const fixture = await Fixture.open();
  for (let n = 0; n < 40; n++) await fixture.split(n);
  const failAtLastShard = (call: string, space: string): void => {
    if (call === "list" && space.startsWith("routes/") && space.endsWith("/15"))
      throw new Error("down");
  };
  fixture.catalog.before = failAtLastShard;
  await fixture.loaded();
  for (let n = 0; n < 40; n++) equal(fixture.filters.check(locationOf(n)), "NOT_LOADED");
  fixture.catalog.before = () => undefined;
  await fixture.clock.advance(1_000);
  await fixture.loaded();
  for (let n = 0; n < 40; n++) equal(fixture.filters.check(locationOf(n)), "HIT");
  fixture.catalog.before = failAtLastShard;
  await fixture.clock.advance(600_000);
  await fixture.filters.refresh();
  await fixture.quiet();
  equal(fixture.troubles.length, 2);
  for (let n = 0; n < 40; n++) equal(fixture.filters.check(locationOf(n)), "HIT");
});

test("B4, S25: a split that completes while a filter is being filled is not lost", async () => {
  const fixture = await Fixture.open();
  // Another slice exists already, so that changes are read during this time.
  fixture.filters.check({ ...locationOf(1), slice: "data_1" });
  await fixture.quiet();
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  // Waits for the last shard: the others have been listed by then.
  fixture.catalog.before = async (call, space) => {
    if (call === "list" && space.endsWith("/15")) await held;
  };
  fixture.filters.check(locationOf(1));
  await fixture.quiet();
  fixture.catalog.before = () => undefined;
  for (let n = 0; n < 40; n++) await fixture.split(n);
  await fixture.filters.refresh();
  release();
  await fixture.quiet();
  await fixture.filters.refresh();
  for (let n = 0; n < 40; n++) equal(fixture.filters.check(locationOf(n)), "HIT");
});

test("B3: more changes than are followed count as seen only when the filter was filled again", async () => {
  const fixture = await Fixture.open({ changesMax: 1_000 });
  await fixture.loaded();
  await fixture.noteElsewhere(1_001);
  await fixture.clock.advance(1);
  await fixture.split(1);
  // So late that they would not be read again once they counted as seen.
  await fixture.clock.advance(60_000);
  fixture.catalog.before = (call, space) => {
    if (call === "list" && space.startsWith("routes/")) throw new Error("down");
  };
  await fixture.filters.refresh();
  await fixture.quiet();
  equal(fixture.troubles.length, 1);
  equal(fixture.filters.check(locationOf(1)), "NONE");
  fixture.catalog.before = () => undefined;
  await fixture.clock.advance(2_000);
  await fixture.filters.refresh();
  await fixture.quiet();
  equal(fixture.filters.check(locationOf(1)), "HIT");
});

test("B4: changes read while a filter is filled again are not lost when the filling ends first", async () => {
  const fixture = await Fixture.open();
  await fixture.split(0);
  await fixture.loaded();
  await fixture.clock.advance(600_000);
  const fill = Promise.withResolvers<undefined>();
  const follow = Promise.withResolvers<undefined>();
  let pages = 0;
  // The routes have been listed except for the last shard; the changes, except for their second
  // page.
  fixture.catalog.before = async (call, space) => {
    if (call === "list" && space.startsWith("routes/") && space.endsWith("/15")) await fill.promise;
    if (call === "list" && space.startsWith("split-changes/") && ++pages === 3) {
      await follow.promise;
    }
  };
  await fixture.filters.refresh();
  await fixture.quiet();
  equal(pages, 1);
  for (let n = 1; n <= 40; n++) await fixture.split(n);
  await fixture.clock.advance(60_000);
  await fixture.noteElsewhere(1_000);
  // It is in use, so it is not evicted.
  fixture.filters.check(locationOf(0));
  const following = fixture.filters.refresh();
  await fixture.quiet();
  equal(pages, 3);
  fill.resolve(undefined);
  await fixture.quiet();
  follow.resolve(undefined);
  await following;
  await fixture.filters.refresh();
  for (let n = 1; n <= 40; n++) equal(fixture.filters.check(locationOf(n)), "HIT");
});

test("B2: a filter is filled again from time to time, and drops what is no longer split", async () => {
  const fixture = await Fixture.open();
  await fixture.split(1);
  await fixture.split(2);
  await fixture.loaded();
  await rollBack(fixture, locationOf(1));
  await fixture.filters.refresh();
  equal(fixture.filters.check(locationOf(1)), "HIT");
  await fixture.clock.advance(600_000);
  await fixture.filters.refresh();
  await fixture.quiet();
  equal(fixture.filters.check(locationOf(1)), "MISS");
  equal(fixture.filters.check(locationOf(2)), "HIT");
});

test("B6: a filter that outgrows its size is made again", async () => {
  const fixture = await Fixture.open();
  await fixture.split(0);
  await fixture.loaded();
  const [before] = [...fixture.filters.sizes()];
  for (let n = 0; n < 1_000; n++) fixture.filters.add(locationOf(n));
  for (let n = 1; n < 1_000; n++) await fixture.split(n);
  await fixture.filters.refresh();
  await fixture.quiet();
  const [after] = [...fixture.filters.sizes()];
  ok((after?.bytes ?? 0) > (before?.bytes ?? 0));
  for (let n = 0; n < 1_000; n++) equal(fixture.filters.check(locationOf(n)), "HIT");
  let mistaken = 0;
  for (let n = 0; n < 5_000; n++)
    if (fixture.filters.check(locationOf(10_000 + n)) === "HIT") mistaken++;
  ok(mistaken <= 50, `${mistaken} of 5,000`);
});

test("B7: a slice that is no longer read is evicted; while all are read, further slices wait for room", async () => {
  const fixture = await Fixture.open({ slicesMax: 2 });
  await fixture.split(1);
  await fixture.loaded();
  await fixture.clock.advance(600_000);
  await fixture.filters.refresh();
  await fixture.quiet();
  await fixture.clock.advance(600_000);
  await fixture.filters.refresh();
  deepEqual([...fixture.filters.sizes()], []);
  equal(fixture.filters.check(locationOf(1)), "NOT_LOADED");
  await fixture.quiet();
  const further = ["data_1", "data_2"].map((slice) => ({ ...locationOf(1), slice }));
  let lists = 0;
  fixture.catalog.before = (call, space) =>
    void (call === "list" && space.startsWith("routes/") && lists++);
  for (let round = 0; round < 50; round++) {
    equal(fixture.filters.check(locationOf(1)), "HIT");
    for (const location of further) fixture.filters.check(location);
    await fixture.quiet();
    await fixture.filters.refresh();
  }
  // One was loaded, once; the other had no room.
  equal(lists, 16);
  for (let refreshes = 0; refreshes < 21; refreshes++) {
    for (const location of further) fixture.filters.check(location);
    await fixture.quiet();
    await fixture.filters.refresh();
  }
  // No read uses the first any more: it makes room.
  for (const location of further) equal(fixture.filters.check(location), "NONE");
  equal(fixture.filters.check(locationOf(1)), "NOT_LOADED");
});

test("B9: of many namespaces only those with changes are listed", async () => {
  const fixture = await Fixture.open();
  await fixture.split(1);
  await fixture.loaded();
  const namespaceIds = Array.from({ length: 50 }, (_, n) => `other-${n}`);
  const inOther = (namespaceId: string): PartitionKey => ({ ...locationOf(1), namespaceId });
  for (const id of namespaceIds) fixture.filters.check(inOther(id));
  await fixture.quiet();
  await fixture.filters.refresh();
  const calls: string[] = [];
  fixture.catalog.before = (call, space) => void calls.push(`${call} ${space}`);
  await fixture.filters.refresh();
  deepEqual(calls, ["versions splits-changed"]);
  fixture.catalog.before = () => undefined;
  await noteChange(fixture.catalog, fixture.clock.nowMicros(), inOther("other-7"));
  fixture.catalog.before = (call, space) => void calls.push(`${call} ${space}`);
  await fixture.filters.refresh();
  deepEqual(calls.slice(1), ["versions splits-changed", "list split-changes/other-7"]);
  equal(fixture.filters.check(inOther("other-7")), "HIT");
  equal(fixture.filters.check(inOther("other-8")), "NONE");
});

test("B3, B4: a catalog that fails is reported, and the filter is filled by a later read", async () => {
  const fixture = await Fixture.open();
  await fixture.split(1);
  fixture.catalog.before = () => {
    throw new Error("down");
  };
  equal(fixture.filters.check(locationOf(1)), "NOT_LOADED");
  await fixture.quiet();
  equal(fixture.troubles.length, 1);
  // Reads at the same time do not repeat the request.
  fixture.filters.check(locationOf(1));
  await fixture.quiet();
  equal(fixture.troubles.length, 1);
  fixture.catalog.before = () => undefined;
  await fixture.clock.advance(1_000);
  equal(fixture.filters.check(locationOf(1)), "NOT_LOADED");
  await fixture.quiet();
  equal(fixture.filters.check(locationOf(1)), "HIT");
});

class Fixture {
  readonly catalog = new MemoryCatalog();
  readonly store = new MemoryStore();
  readonly clock = new VirtualClock(1_790_000_000_000_000);
  readonly changes: PartitionKey[] = [];
  readonly troubles: string[] = [];
  readonly filters: SliceFilters;

  constructor(options: Partial<SliceFiltersOptions>) {
    this.filters = new SliceFilters({
      catalog: this.catalog,
      clock: this.clock,
      margins: timeMargins({ clockSkewMs: 1_000, viewMaxAgeMs: 10_000, writeMaxMs: 10_000 }),
      onChange: (partition) => this.changes.push(partition),
      trouble: (what) => this.troubles.push(what),
      ...options,
    });
  }

  static async open(options: Partial<SliceFiltersOptions> = {}): Promise<Fixture> {
    const fixture = new Fixture(options);
    await fixture.store.createSlice(locationOf(0));
    await fixture.store.createSlice(splitTableOf(locationOf(0)));
    return fixture;
  }

  async split(n: number, clock: VirtualClock = this.clock): Promise<void> {
    const { catalog, store } = this;
    await addSegment({ catalog, store, clock }, locationOf(n), {
      from: 0,
      to: 10,
      cuts: [],
      hashParts: 0,
      layout: "PACKED",
      confirmed: true,
    });
  }

  /** Changes of a slice that is not read. */
  async noteElsewhere(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const partition = { ...locationOf(n), slice: "data_9" };
      await noteChange(this.catalog, this.clock.nowMicros(), partition);
    }
  }

  async loaded(): Promise<void> {
    this.filters.check(locationOf(0));
    await this.quiet();
  }

  async quiet(): Promise<void> {
    for (let n = 0; n < 5; n++) await settle();
  }
}

function locationOf(n: number): PartitionKey {
  const slice = { namespaceId: "plays-1", slice: "data_0" };
  return { ...slice, seriesId: `profile:${n}`, timeBucket: 0, eventBucket: 0 };
}
